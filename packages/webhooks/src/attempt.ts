import { hash } from 'node:crypto'
import { WEBHOOK_RESPONSE_BYTES } from '@plumbline/contract/webhook-limits'
import type { AttemptResult } from '@plumbline/db/webhooks/attempt-results'
import type { DueDelivery } from '@plumbline/db/webhooks/deliveries'
import type { FetchRequest, HttpAnswer, HttpFailure } from '@plumbline/net/http'
import type { InstallationKey } from '@plumbline/pipeline/installation-key'
import { retryMs } from './retry.ts'
import { decryptSecret } from './secret-box.ts'
import { signatureOf } from './signature.ts'

/** Sends a request through the egress guard. */
export type Send = (request: Omit<FetchRequest, 'egress' | 'resolver'>) => Promise<HttpAnswer>

/** Dependencies of an attempt. */
export interface AttemptTools {
  readonly send: Send
  readonly installationKey: InstallationKey
  /** Time-out of an attempt. Standard Webhooks 1.0 names 15 to 30 seconds. */
  readonly timeoutMs: number
  /** Seconds between consecutive attempts. */
  readonly retrySeconds: readonly number[]
}

/**
 * Sends a message once, without following redirects, and returns the result. Never throws because
 * of the receiver.
 */
export async function attemptDelivery(
  { send, installationKey, timeoutMs, retrySeconds }: AttemptTools,
  due: DueDelivery,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const startedAt = performance.now()
  const nowMs = Date.now()
  const timestamp = Math.floor(nowMs / 1_000)
  const secrets = due.secrets.map((hidden) =>
    decryptSecret(installationKey, due.endpointId, hidden),
  )
  const answer = await send({
    url: due.url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'plumbline-webhooks/1',
      'webhook-id': due.webhookId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureOf(secrets, { id: due.webhookId, timestamp, body: due.body }),
    },
    body: due.body,
    maxBytes: WEBHOOK_RESPONSE_BYTES,
    overflow: 'cut',
    // It has the message; what it says beside its status is for people to read.
    headSuffices: true,
    maxRedirects: 'shown',
    plain: 'allowed',
    timeoutMs,
    signal,
  })
  const result = resultOf(answer)
  const again = result.arrived
    ? null
    : retryMs(due.attempt, retrySeconds, result.retryAfter, { nowMs, random: Math.random() })
  const isGone = result.responseStatus === 410
  return {
    id: due.id,
    endpointId: due.endpointId,
    attempt: due.attempt,
    url: due.url,
    bodySha256: hash('sha256', due.body),
    status: result.arrived ? 'delivered' : again === null || isGone ? 'failed' : 'pending',
    againMs: again ?? 0,
    durationMs: Math.round(performance.now() - startedAt),
    responseStatus: result.responseStatus,
    responseBody: result.responseBody,
    error: result.error,
    disable: isGone ? 'gone' : null,
  }
}

interface EndpointResult {
  readonly arrived: boolean
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly error: string | null
  readonly retryAfter?: string | undefined
}

/** The result of an attempt: only 2xx is success, a redirect is not. Source: Standard Webhooks 1.0, "Delivery". */
function resultOf(answer: HttpAnswer): EndpointResult {
  if (answer.kind === 'failed') {
    const error = FAILURES[answer.reason]
    return { arrived: false, responseStatus: null, responseBody: null, error }
  }
  const { status, headers, body } = answer
  const arrived = status >= 200 && status < 300
  return {
    arrived,
    responseStatus: status,
    responseBody: Buffer.from(body).toString('utf8'),
    error: arrived ? null : wrongStatus(status),
    retryAfter: headers['retry-after'],
  }
}

function wrongStatus(status: number): string {
  return status >= 300 && status < 400
    ? FAILURES.too_many_redirects
    : `The endpoint answered ${status}; it has to answer 2xx.`
}

const FAILURES: Readonly<Record<HttpFailure, string>> = {
  bad_url: 'The address is not an http or https URL.',
  forbidden: 'The address is not one that messages may go to.',
  dns: 'The name of the host was not found.',
  timeout: 'The endpoint did not answer in time.',
  network: 'No connection to the endpoint could be made, or it broke.',
  tls: 'The certificate of the endpoint could not be verified.',
  bad_response: 'The endpoint answered with what is not HTTP.',
  too_large: 'The answer of the endpoint was too large.',
  too_many_redirects: 'The endpoint redirects; messages follow no redirect.',
}
