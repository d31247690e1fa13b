import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import Papa from 'papaparse'
import { describe, expect, test } from 'vitest'
import { spawnSimnet, type SimnetProcess } from '../simnet/child.ts'
import { expireIntents } from './expire-intents.ts'
import { backends } from '@plumbline/testkit/backends'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { isSoak, soakSize } from '@plumbline/testkit/soak'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import {
  startService,
  type Account,
  type Member,
  type TestService,
} from '@plumbline/testkit/service'

// Real workers are killed; the provider is a process of its own that counts its sales.

const NUMBERS = soakSize(4_000, 600)
const KILLS = soakSize(25, 4)
const END_WITHIN_MS = 300_000
/** Records of a chunk: few, so that a kill leaves few numbers in doubt. */
const CHUNK_RECORDS = 10
const SLOTS = 4
const RESERVE = 1
const IN_HAND = (SLOTS + RESERVE) * CHUNK_RECORDS
/**
 * Most purchases of a worker process before it is killed; as many more may be made in the meantime.
 */
const LIFE_PURCHASES = NUMBERS / KILLS / 2
/** Delay of the provider before it responds. */
const DELAY_MS = 120
const LOST_PER_MILLE = soakSize(5, 10)
const SETTINGS = {
  CHUNK_RECORDS: String(CHUNK_RECORDS),
  BULK_TASKS: String(SLOTS),
  LEASE_SECONDS: '2',
  SAVE_SECONDS: '1',
  SWEEP_SECONDS: '1',
  HLR_CONNECTIONS: '200',
  HLR_QUERIES_PER_SECOND: '10000',
} as const

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  test('no number is bought twice, whenever the phone worker is killed', async () => {
    await using simnet = await spawnSimnet({
      // Charged, but the connection is cut before the response: in doubt without any kill.
      hlrFaults: { delayMs: DELAY_MS, lostPerMille: LOST_PER_MILLE },
    })
    await using database = await createTestDatabase()
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl,
      engines: 'real',
      workers: [['phone'], ['batch']],
      env: { ...simnet.settings, ...SETTINGS },
    })
    const account = await service.account({ credits: NUMBERS * 2 })
    const numbers = Array.from({ length: NUMBERS }, (_, at) => `+4179${2_000_000 + at * 7}`)
    const id = await submit(service, account, numbers)
    const kills = await killAtRandom(service, simnet, async () => {
      if (!isSoak()) await expireIntents(database.url, numbers)
    })
    const batch = await untilEnded(service, account, id)

    expect(kills).toBe(KILLS)
    expect(batch).toMatchObject({ status: 'completed', rows: { done: NUMBERS } })
    const bought = (await simnet.counters()).hlr.perNumber
    const queries = Object.values(bought).map((number) => number.queries)
    expect(Math.max(...queries)).toBe(1)
    const rows = await resultsOf(service, account, id)
    expect(rows.map((row) => row['phone'])).toEqual(numbers)
    // Every number has a verdict that was bought, or is in doubt: none ends as an error.
    const verdicts = rows.filter((row) => VERDICTS.has(row['result.phone.reason'] ?? ''))
    const doubtful = rows.filter((row) => row['result.phone.reason'] === 'hlr_in_doubt')
    expect(rows.filter((row) => !verdicts.includes(row) && !doubtful.includes(row))).toEqual([])
    expect(verdicts.filter((row) => bought[row['phone'] ?? ''] === undefined)).toEqual([])
    expect(queries.length).toBeGreaterThanOrEqual(verdicts.length)
    expect(batch).toMatchObject({ credits: { used: NUMBERS * 2, released: 0 } })

    // In doubt are numbers that were between the record of the purchase and the stored result at a
    // kill, at most the concurrent ones of each; and those whose response the provider lost.
    expect(doubtful.length).toBeGreaterThan(0)
    expect(doubtful.every((row) => row['result.phone.status'] === 'unknown')).toBe(true)
    expect(doubtful.length).toBeLessThanOrEqual(kills * IN_HAND + NUMBERS * LOST_PER_MILLE * 0.002)
    await expectLedgerIntact(service)
  })
})

const VERDICTS: ReadonlySet<string> = new Set([
  'hlr_connected',
  'hlr_absent',
  'hlr_unknown_subscriber',
  'hlr_undetermined',
])

async function submit(
  service: TestService,
  account: Account,
  numbers: readonly string[],
): Promise<string> {
  const form = new FormData()
  form.set('product', 'phone')
  form.set('file', new Blob([`phone\n${numbers.join('\n')}\n`]), 'list.csv')
  const response = await service.call(account.liveKey, 'POST', '/v1/batches', form)
  expect(response.status).toBe(202)
  return viewIn(await response.text()).id
}

/**
 * Kills the phone worker at random moments: after a number of purchases, or none; `killed` runs while
 * it is dead.
 */
async function killAtRandom(
  service: TestService,
  simnet: SimnetProcess,
  killed: () => Promise<void>,
): Promise<number> {
  const worker: Member | undefined = service.workers[0]
  if (worker === undefined) throw new Error('no phone worker')
  let kills = 0
  for (; kills < KILLS; kills++) {
    const { bought } = await simnet.totals()
    await untilBought(simnet, bought + Math.floor(Math.random() * LIFE_PURCHASES))
    // Also between two purchases.
    await wait(Math.random() * DELAY_MS)
    await worker.kill('SIGKILL')
    await killed()
    await worker.restart()
  }
  return kills
}

async function untilBought(simnet: SimnetProcess, count: number): Promise<void> {
  const signal = AbortSignal.timeout(END_WITHIN_MS)
  while ((await simnet.totals()).bought < count) await wait(10, undefined, { signal })
}

async function untilEnded(service: TestService, account: Account, id: string): Promise<BatchView> {
  const deadline = Date.now() + END_WITHIN_MS
  for (let look = 1; ; look++) {
    const batch = await view(service, account, id)
    if (['completed', 'failed', 'canceled'].includes(batch.status)) return batch
    if (Date.now() > deadline) throw new Error(`the batch did not end: ${JSON.stringify(batch)}`)
    await wait(Math.min(50 * look, 250))
  }
}

async function view(service: TestService, account: Account, id: string): Promise<BatchView> {
  const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
  return viewIn(await response.text())
}

async function resultsOf(
  service: TestService,
  account: Account,
  id: string,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const path = `/v1/batches/${id}/results`
  const text = await (await service.call(account.liveKey, 'GET', path)).text()
  return Papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: true }).data
}

/** Safe because the service answers batches in the shape of its contract. */
function viewIn(text: string): BatchView {
  return JSON.parse(text) as BatchView
}
