import type { HttpAnswer } from '@plumbline/net/http'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { expect, test } from 'vitest'
import { attemptDelivery, type AttemptTools } from './attempt.ts'
import { encryptSecret } from './secret-box.ts'
import { newSecret } from './signature.ts'

const installationKey = createInstallationKey('the key of a test, which hides nothing')
const DUE = {
  id: 'dlv_1',
  accountId: 'acc_1',
  endpointId: 'whk_1',
  webhookId: 'msg_1',
  attempt: 1,
  url: 'https://hooks.example/x',
  body: '{}',
  secrets: [encryptSecret(installationKey, 'whk_1', newSecret())],
}

/** Result of an attempt to which the endpoint sends this response. */
async function attempt(answer: HttpAnswer): ReturnType<typeof attemptDelivery> {
  const tools: AttemptTools = {
    send: async () => answer,
    installationKey,
    timeoutMs: 15_000,
    retrySeconds: [5],
  }
  return await attemptDelivery(tools, DUE, new AbortController().signal)
}

function response(status: number, body: string): HttpAnswer {
  const bytes = new TextEncoder().encode(body)
  return {
    kind: 'response',
    status,
    headers: {},
    body: bytes,
    cut: false,
    url: DUE.url,
    redirects: 0,
  }
}

test('only 2xx is success, and every other status is reported', async () => {
  expect(await attempt(response(299, 'ok'))).toMatchObject({ status: 'delivered', error: null })
  expect(await attempt(response(404, 'nobody'))).toMatchObject({
    status: 'pending',
    responseStatus: 404,
    responseBody: 'nobody',
    error: 'The endpoint answered 404; it has to answer 2xx.',
  })
})

test('a redirect is reported with its status, and not followed', async () => {
  expect(await attempt(response(307, 'over there'))).toMatchObject({
    status: 'pending',
    responseStatus: 307,
    responseBody: 'over there',
    error: 'The endpoint redirects; messages follow no redirect.',
  })
})

test('410 disables the endpoint, and an attempt without response has no status', async () => {
  expect(await attempt(response(410, ''))).toMatchObject({ status: 'failed', disable: 'gone' })
  const silent: HttpAnswer = {
    kind: 'failed',
    reason: 'timeout',
    detail: '',
    url: DUE.url,
    sent: true,
  }
  expect(await attempt(silent)).toMatchObject({
    status: 'pending',
    responseStatus: null,
    error: 'The endpoint did not answer in time.',
  })
})
