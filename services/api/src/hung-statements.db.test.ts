import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { digestOf } from '@plumbline/db/keys-format'
import { openLossyProxy, type LossyProxy } from '@plumbline/testkit/lossy-proxy'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'

let stage: ApiHarness
let proxy: LossyProxy
beforeAll(async () => {
  stage = await openApiHarness({ CALL_TIMEOUT_SECONDS: '2' }, async (url) => {
    proxy = await openLossyProxy(url)
    return proxy
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

const KEYED = { 'idempotency-key': 'order-1' }

/** Well below the time-out of the socket, and above what a refusal takes on a busy machine. */
const SOON_MS = 15_000

function callEmail(
  { live }: HarnessAccount,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  const signal = AbortSignal.timeout(SOON_MS)
  const unheard = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('no response')), { once: true })
  })
  const body = { email: 'ada@example.com' }
  return Promise.race([stage.call('/v1/email', { key: live, body, headers }), unheard])
}

/** Work beside calls of another account, to which the database replies. */
async function besideOthers<T>(work: () => Promise<T>): Promise<T> {
  const other = await stage.account()
  const over = new AbortController()
  const calling = (async () => {
    while (!over.signal.aborted) {
      await stage.call('/v1/account', { key: other.live })
      await wait(50)
    }
  })()
  try {
    return await work()
  } finally {
    over.abort()
    await calling
  }
}

function summaryOf({ status, headers }: ApiResponse): readonly unknown[] {
  return [status, headers.get('retry-after'), headers.get('x-credits-charged') ?? '0']
}

test('a call whose key is looked up on a dead connection is refused soon, free, and the next one is answered', async () => {
  const account = await stage.account({ credits: 10 })
  const answers = await besideOthers(async () => {
    proxy.loseConnection(digestOf(account.live))
    return await Promise.all([callEmail(account), callEmail(account)])
  })
  expect(answers.map(summaryOf)).toEqual([
    [503, '2', '0'],
    [503, '2', '0'],
  ])
  expect((await callEmail(account)).status).toBe(200)
}, 40_000)

test('a call whose idempotency key is claimed on a dead connection is refused soon, free, and its repeat is answered', async () => {
  const account = await stage.account({ credits: 10 })
  await besideOthers(async () => {
    proxy.loseConnection('idempotency_claim')
    expect(summaryOf(await callEmail(account, KEYED))).toEqual([503, '2', '0'])
    expect((await callEmail(account, KEYED)).status).toBe(200)
  })
  expect(await stage.metering.remaining(account.id)).toBe(9)
}, 40_000)

test('a claim of an idempotency key whose reply was lost does not hold the key', async () => {
  const account = await stage.account({ credits: 10 })
  const lost = proxy.lostCount()
  proxy.loseNextReply('idempotency_claim')
  expect(summaryOf(await callEmail(account, KEYED))).toEqual([503, '2', '0'])
  expect(proxy.lostCount()).toBe(lost + 1)
  // A key that is not freed is held for a minute.
  await expect
    .poll(async () => (await callEmail(account, KEYED)).status, { timeout: 20_000, interval: 100 })
    .toBe(200)
  expect(await stage.metering.remaining(account.id)).toBe(9)
}, 40_000)

test('the repeat of a call whose response is being stored without end is refused soon with 409', async () => {
  const account = await stage.account({ credits: 10 })
  await using stack = new AsyncDisposableStack()
  const client = await stage.db.pool.connect()
  stack.defer(() => client.release())
  stage.answer = async (check, subject) => {
    await client.query('begin')
    // The transaction that stores the response has the row of the key by then.
    const lock = 'select from credit_unanswered where account_id = $1 for update'
    await client.query(lock, [account.id])
    return outcomeFor(check, subject)
  }
  await besideOthers(async () => {
    const hung = await callEmail(account, KEYED)
    expect([hung.status, hung.text]).toEqual([
      504,
      expect.stringContaining('may have been charged'),
    ])
    expect(summaryOf(await callEmail(account, KEYED))).toEqual([409, '1', '0'])
  })
  await client.query('rollback')
  stage.answer = undefined
  // The transaction is answered, and either of them is charged.
  await expect.poll(async () => (await callEmail(account, KEYED)).status).toBe(200)
  expect(await stage.metering.remaining(account.id)).toBe(9)
}, 40_000)

test('the admin port tells soon that the database does not reply', async () => {
  let own: LossyProxy | undefined
  await using silent = await openApiHarness({}, async (url) => {
    own = await openLossyProxy(url)
    return own
  })
  expect((await fetch(`${silent.adminUrl}/readyz`)).status).toBe(200)
  own?.loseAll()
  const signal = AbortSignal.timeout(SOON_MS)
  const ready = await fetch(`${silent.adminUrl}/readyz`, { signal })
  expect(ready.status).toBe(503)
  expect(await ready.json()).toMatchObject({ ready: false, away: [], workers: [] })
  // Otherwise the end of the API waits for the time limits of its statements.
  await own?.[Symbol.asyncDispose]()
}, 40_000)
