import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openLossyProxy, type LossyProxy } from '@plumbline/testkit/lossy-proxy'
import { expect, test } from 'vitest'

const KEYED = { 'idempotency-key': 'order-1' }

function callEmail(
  stage: ApiHarness,
  { live }: HarnessAccount,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  return stage.call('/v1/email', { key: live, body: { email: 'ada@example.com' }, headers })
}

/** Credits that single calls cost and were given back, as the API has counted them. */
async function countedBy(stage: ApiHarness): Promise<{ charged: number; refunded: number }> {
  const text = await (await fetch(`${stage.adminUrl}/metrics`)).text()
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, 'gm'))].reduce(
      (total, [, count]) => total + Number(count),
      0,
    )
  return { charged: sum('credits_charged_total'), refunded: sum('credits_refunded_total') }
}

/** Locks the debits of an account that are not final yet. */
async function lockDebits({ db }: ApiHarness, { id }: HarnessAccount): Promise<AsyncDisposable> {
  const client = await db.pool.connect()
  await client.query('begin')
  await client.query('select from credit_unanswered where account_id = $1 for update', [id])
  return {
    [Symbol.asyncDispose]: async () => {
      await client.query('rollback')
      client.release()
    },
  }
}

test('a call whose response is not stored by the deadline ends then, is not shown as free, and a repeat is charged once', async () => {
  await using stage = await openApiHarness({ CALL_TIMEOUT_SECONDS: '1' })
  const account = await stage.account({ credits: 10 })
  {
    await using stack = new AsyncDisposableStack()
    stage.answer = async (check, subject) => {
      stack.use(await lockDebits(stage, account))
      return outcomeFor(check, subject)
    }
    const late = await callEmail(stage, account, KEYED)
    expect(late.status).toBe(504)
    expect(late.text).toContain('may have been charged')
    expect(late.headers.get('x-credits-charged')).toBe('1')
    expect(late.headers.get('x-credits-remaining')).toBe('9')
  }
  stage.answer = undefined
  await expect.poll(async () => (await callEmail(stage, account, KEYED)).status).toBe(200)
  expect(await stage.metering.remaining(account.id)).toBe(9)
  await expect.poll(async () => (await countedBy(stage)).charged).toBe(1)
})

test.each([
  ['at once', 0],
  ['after half a second', 500],
])(
  'a call whose stored response is committed without a reply is answered and charged if the database replies again %s',
  async (_, stallMs) => {
    const proxies: LossyProxy[] = []
    await using stage = await openApiHarness({}, async (url) => {
      const proxy = await openLossyProxy(url)
      proxies.push(proxy)
      return proxy
    })
    const account = await stage.account({ credits: 10 })
    stage.answer = async (check, subject) => {
      for (const proxy of proxies) proxy.loseNextReply('commit', stallMs)
      return outcomeFor(check, subject)
    }
    const once = await callEmail(stage, account, KEYED)
    expect(proxies.map((proxy) => proxy.lostCount())).toEqual([1])
    expect(once.status).toBe(200)
    expect(once.headers.get('x-credits-charged')).toBe('1')
    expect(once.headers.get('x-credits-remaining')).toBe('9')
    const again = await callEmail(stage, account, KEYED)
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([once.text, 'true'])
    expect(await stage.metering.remaining(account.id)).toBe(9)
    expect(await countedBy(stage)).toEqual({ charged: 1, refunded: 0 })
  },
)

test('a call that costs nothing is answered while its refund waits', async () => {
  await using stage = await openApiHarness({ CALL_TIMEOUT_SECONDS: '1', CHARGE_UNKNOWN: 'false' })
  const account = await stage.account({ credits: 10 })
  {
    await using stack = new AsyncDisposableStack()
    stage.answer = async (check, subject) => {
      stack.use(await lockDebits(stage, account))
      return { ...outcomeFor(check, subject), status: 'unknown' }
    }
    const answer = await callEmail(stage, account)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-credits-charged')).toBe('0')
    expect(answer.headers.get('x-credits-remaining')).toBe('10')
  }
  await expect.poll(() => stage.metering.remaining(account.id)).toBe(10)
  expect(await countedBy(stage)).toEqual({ charged: 0, refunded: 1 })
})

test('credits of a debit that was granted after its call was refused are counted as refunded', async () => {
  await using stage = await openApiHarness({ CALL_TIMEOUT_SECONDS: '1' })
  const account = await stage.account({ credits: 10 })
  // The key and the balance are known before the lock.
  expect((await callEmail(stage, account)).status).toBe(200)
  const client = await stage.db.pool.connect()
  await client.query('begin')
  const lock = 'select from credit_accounts where account_id = $1 for update'
  await client.query(lock, [account.id])
  const refused = await callEmail(stage, account)
  await client.query('rollback')
  client.release()
  expect([503, 504]).toContain(refused.status)
  await expect.poll(() => countedBy(stage)).toEqual({ charged: 1, refunded: 1 })
  expect(await stage.metering.remaining(account.id)).toBe(9)
})
