import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account, TestService } from '@plumbline/testkit/service'
import { processorSeconds } from './processor-seconds.ts'
import { atMost, type Figure } from './figure.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'
import { openSilentHosts, untilWaiting, writeDomains } from './silent-hosts.ts'
import { uploadBatch } from './upload.ts'

/** Running batches in which every record waits. */
const BATCHES = 1_000
const SIDE_BY_SIDE = 8
/** Fewer than the unfinished batches that an account may have. */
const BATCHES_AN_ACCOUNT = 10

/** Milliseconds until all batches have started, and duration of the measurement. */
const SETTLE_MS = 10_000
const MEASURED_MS = 60_000

/** Largest permitted ratio of many batches to one. */
const MOST = 1.25

/**
 * Load of a service with a thousand waiting batches, compared with one: transactions a second, and
 * processor seconds of all processes in a minute.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(measure)
}

async function measure(backend: BenchBackend): Promise<readonly Figure[]> {
  await using scene = await openSilentHosts(backend, 'waiting')
  const { service, dir } = scene
  const list = join(dir, 'list.csv')
  await writeDomains(list, 'apart', 1)
  await uploadBatch(service, await service.account({ credits: BATCHES }), list, 'email')
  const one = await observe(service, 1)
  await start(service, list, BATCHES - 1)
  const many = await observe(service, BATCHES)
  const head = { name: `waiting-batches: ${BATCHES} compared with one`, backend: backend.name }
  return [
    atMost({ ...head, unit: 'tx/s' }, many.transactions, one.transactions, MOST),
    atMost({ ...head, unit: 'cpu s/min' }, many.cpuSeconds, one.cpuSeconds, MOST),
  ]
}

async function start(service: TestService, list: string, count: number): Promise<void> {
  let left = count
  const uploadSome = async (): Promise<void> => {
    let account: Account | undefined
    for (let at = 0; left > 0; at += 1) {
      left -= 1
      if (account === undefined || at % BATCHES_AN_ACCOUNT === 0) {
        account = await service.account({ credits: BATCHES })
      }
      await uploadBatch(service, account, list, 'email')
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, uploadSome))
}

/** Measures while all waiting tasks are postponed for an hour. */
async function observe(
  service: TestService,
  batches: number,
): Promise<{ readonly transactions: number; readonly cpuSeconds: number }> {
  await untilWaiting(service, batches)
  await service.db.pool.query("update tasks set due_at = now() + interval '1 hour'")
  await service.db.pool.query("update task_groups set next_at = now() + interval '1 hour'")
  await wait(SETTLE_MS)
  const before = await lookAt(service)
  await wait(MEASURED_MS)
  const after = await lookAt(service)
  const seconds = (after.atMs - before.atMs) / 1_000
  return {
    transactions: (after.transactions - before.transactions) / seconds,
    cpuSeconds: ((after.cpuSeconds - before.cpuSeconds) * 60) / seconds,
  }
}

async function lookAt({ db, api, workers }: TestService): Promise<{
  readonly transactions: number
  readonly cpuSeconds: number
  readonly atMs: number
}> {
  const { rows } = await db.pool.query<{ transactions: number }>(
    `select (xact_commit + xact_rollback)::int as transactions from pg_stat_database
     where datname = current_database()`,
  )
  const seconds = await Promise.all([api, ...workers].map((member) => processorSeconds(member)))
  return {
    transactions: rows[0]?.transactions ?? 0,
    cpuSeconds: seconds.reduce((sum, each) => sum + each, 0),
    atMs: performance.now(),
  }
}
