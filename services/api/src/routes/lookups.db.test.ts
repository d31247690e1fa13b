import { openApiHarness, type ApiHarness, type ApiResponse } from '@plumbline/testkit/api/harness'
import { openLossyProxy, type LossyProxy } from '@plumbline/testkit/lossy-proxy'
import { afterAll, beforeAll, expect, test } from 'vitest'

let stage: ApiHarness
let proxy: LossyProxy
beforeAll(async () => {
  stage = await openApiHarness({}, async (url) => {
    proxy = await openLossyProxy(url)
    return proxy
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** Begins an asynchronous lookup whose commit takes effect, but has no reply. */
async function beginUnheard(
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  const lost = proxy.lostCount()
  proxy.loseNextReply('commit')
  const answer = await begin(key, headers)
  expect(proxy.lostCount()).toBe(lost + 1)
  return answer
}

function begin(key: string, headers: Readonly<Record<string, string>>): Promise<ApiResponse> {
  return stage.call('/v1/email', {
    key,
    body: { email: 'ada@example.com' },
    headers: { prefer: 'respond-async', ...headers },
  })
}

async function statesOf(accountId: string): Promise<readonly string[]> {
  const { rows } = await stage.db.pool.query<{ status: string }>(
    'select status from batches where account_id = $1',
    [accountId],
  )
  return rows.map(({ status }) => status)
}

test('a lookup whose commit had no reply is refused and canceled', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  const answer = await beginUnheard(live)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('x-credits-charged')).toBe('0')
  await expect.poll(() => statesOf(id)).toEqual(['canceling'])
})

test('with an Idempotency-Key it stays, and a repeat gets it', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  const key = { 'idempotency-key': 'order-1' }
  const answer = await beginUnheard(live, key)
  expect(answer.status).toBe(503)
  expect(answer.text).toContain('may have been charged')
  const again = await begin(live, key)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(await statesOf(id)).toEqual(['running'])
})
