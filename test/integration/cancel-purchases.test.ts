import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { spawnSimnet, type SimnetProcess } from '../simnet/child.ts'
import { expireIntents } from './expire-intents.ts'
import { backends } from '@plumbline/testkit/backends'
import {
  call,
  expectSettled,
  formOf,
  readCells,
  readLines,
  submitBatch,
  untilBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { HLR_POLICY } from '@plumbline/phone/policy'
import { SEQUENTIAL } from '@plumbline/testkit/crash-harness'
import { PATIENT } from '@plumbline/testkit/patience'
import { isSoak } from '@plumbline/testkit/soak'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

// Numbers are bought at once while the emails of the same records wait: a cancel must not refund
// numbers that were bought.

const RECORDS = 180
/** An email and a phone. */
const PRICE = 3
const PHONE_CREDITS = 2
const CREDITS = RECORDS * PRICE
/** Concurrent purchases. */
const PURCHASES_AT_ONCE = HLR_POLICY.concurrency
const SETTINGS = {
  CHUNK_RECORDS: '60',
  LEASE_SECONDS: '2',
  SWEEP_SECONDS: '1',
  HLR_QUERIES_PER_SECOND: '1000',
} as const

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  const stack = new AsyncDisposableStack()
  let simnet: SimnetProcess
  let service: TestService
  let databaseUrl: string
  beforeAll(async () => {
    simnet = stack.use(await spawnSimnet({ hlrFaults: { delayMs: 150 } }))
    const database = stack.use(await createTestDatabase())
    databaseUrl = database.url
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        engines: 'real',
        // No worker answers the emails.
        workers: [['phone'], ['batch']],
        env: { ...simnet.settings, ...SETTINGS },
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function openCaller(): Promise<Caller> {
    const account = await service.account({ credits: CREDITS })
    return { service, account, key: account.liveKey }
  }

  /** Numbers bought since the total was `before`. */
  async function boughtSince(before: number): Promise<number> {
    return (await simnet.totals()).bought - before
  }

  test(
    'numbers bought before a cancel, or being bought, are charged and shown; none is bought after it',
    SEQUENTIAL,
    async () => {
      const caller = await openCaller()
      const { bought: before } = await simnet.totals()
      const { id } = await submitBatch(caller, uploadOf('4'))
      await vi.waitFor(
        async () => expect(await boughtSince(before)).toBeGreaterThanOrEqual(40),
        PATIENT,
      )
      expect((await call(caller, 'POST', `/v1/batches/${id}/cancel`)).status).toBe(200)
      const atCancel = await boughtSince(before)
      const batch = await untilBatch(caller, id)
      const bought = await boughtSince(before)
      // Those in progress, and those begun before the worker learned of the cancel.
      expect(bought).toBeLessThan(atCancel + 60)
      expect(bought).toBeLessThan(RECORDS)
      const used = bought * PHONE_CREDITS
      expect(batch).toMatchObject({
        status: 'canceled',
        rows: { total: RECORDS, done: 0 },
        credits: { estimate: CREDITS, held: 0, used, released: CREDITS - used },
      })
      await expectSettled(caller, await leftOf(caller, used))
      await expectRows(caller, id, bought)
      expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(204)
      await expectSettled(caller, await leftOf(caller, used))
      expect(await boughtSince(before)).toBe(bought)
    },
  )

  test(
    'a phone worker that is killed after the cancel: another reports the purchases',
    SEQUENTIAL,
    async () => {
      const caller = await openCaller()
      const [phones, batches] = service.workers
      const { bought: before } = await simnet.totals()
      const { id } = await submitBatch(caller, uploadOf('5'))
      await vi.waitFor(
        async () => expect(await boughtSince(before)).toBeGreaterThanOrEqual(40),
        PATIENT,
      )
      await call(caller, 'POST', `/v1/batches/${id}/cancel`)
      await Promise.all([phones?.kill('SIGKILL'), batches?.kill('SIGKILL')])
      if (!isSoak()) await expireIntents(databaseUrl, numbersOf('5'))
      await Promise.all([phones?.restart(), batches?.restart()])
      const batch = await untilBatch(caller, id)
      const bought = await boughtSince(before)
      expect(batch).toMatchObject({ status: 'canceled', credits: { held: 0 } })
      const { used } = batch.credits
      // Purchases whose outcome the kill lost are in doubt, and reported as such: also the few that
      // were recorded and not yet sent.
      const known = used / PHONE_CREDITS
      expect(known).toBeGreaterThanOrEqual(bought)
      expect(known).toBeLessThanOrEqual(bought + PURCHASES_AT_ONCE)
      await expectSettled(caller, await leftOf(caller, used))
      await expectRows(caller, id, known)
    },
  )
})

/** Numbers of a series; each batch has its own, since purchases for one batch are reused by the next. */
function numbersOf(series: string): readonly string[] {
  return Array.from(
    { length: RECORDS },
    (_, at) => `+4179${series}${String(at * 7).padStart(6, '0')}`,
  )
}

function uploadOf(series: string): FormData {
  const lines = numbersOf(series).map((number, at) => `person${at}@grey.example,${number}`)
  return formOf({ product: 'contact-intel' }, `email,phone\n${lines.join('\n')}\n`)
}

/**
 * Credits that an account of the test has left: the allowance of its plan is used before granted credits.
 */
async function leftOf(caller: Caller, used: number): Promise<number> {
  const { rows } = await caller.service.db.pool.query<{ granted: number }>(
    `select sum(allowance_delta + packs_delta)::int as granted from credit_entries
     where account_id = $1 and kind in ('grant', 'pack', 'goodwill')`,
    [caller.account.id],
  )
  return (rows[0]?.granted ?? 0) - used
}

/** Asserts that every row is canceled; those whose number was bought have the phone's result and charge. */
async function expectRows(caller: Caller, id: string, bought: number): Promise<void> {
  const lines = await readLines(caller, id)
  expect(lines).toHaveLength(RECORDS)
  expect(new Set(lines.map(({ status }) => status))).toEqual(new Set(['canceled']))
  const known = lines.filter(({ result }) => result !== null)
  expect(known).toHaveLength(bought)
  for (const line of known) {
    expect(line.credits_charged).toBe(PHONE_CREDITS)
    expect(Object.keys(line.result ?? {})).toEqual(['phone', 'credits_used'])
  }
  const [names = [], ...rows] = await readCells(caller, id)
  const at = (name: string): number => names.indexOf(name)
  expect(rows).toHaveLength(RECORDS)
  expect(rows.every((row) => row[at('result.error')]?.startsWith('canceled'))).toBe(true)
  expect(rows.filter((row) => row[at('result.phone.status')] !== '')).toHaveLength(bought)
  expect(rows.filter((row) => row[at('result.credits_charged')] === '2')).toHaveLength(bought)
}
