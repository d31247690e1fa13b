import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startService, type TestService } from '@plumbline/testkit/service'
import { atLeast, bounded, type Figure } from './figure.ts'
import { moreStores, onBothBackends, type BenchBackend } from './servers.ts'
import { uploadBatch, waitForEnd, writeContacts } from './upload.ts'

/** Milliseconds that an engine takes for a subject, and concurrent subjects of a task. */
const ENGINE_MS = 50
const WIDTH = 1
/** A task takes five seconds, so that the time between two tasks hardly counts. */
const CHUNK_RECORDS = 100
const TASK_MS = (CHUNK_RECORDS * ENGINE_MS) / WIDTH
/** Concurrent tasks of an email worker. */
const SLOTS = 16

/** Records a second of one worker if no task has to wait. */
const BEST_A_SECOND = (SLOTS * WIDTH * 1_000) / ENGINE_MS

const WARM_UP_MS = 6_000
const MEASURED_MS = 20_000
/** Enough for the start, the measured time and the end; and for a worker to leave and return. */
const RECORDS_A_WORKER = BEST_A_SECOND * 42
const RECORDS_TO_JOIN = BEST_A_SECOND * 60

/** Minimum ratio to the rate of one worker, by number of workers. */
const LEAST: ReadonlyMap<number, number> = new Map([
  [2, 1.9],
  [4, 3.6],
])

/** Number of workers of which one leaves and returns, and how long it may be idle. */
const JOINED = 2
const JOIN_MS = 5_000

/**
 * Records a second of one batch with one, two and four workers whose engine has a delay, and how
 * soon a joining worker gets its share.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(measureFleets)
}

async function measureFleets(servers: BenchBackend): Promise<readonly Figure[]> {
  const { name: backend } = servers
  const figures: Figure[] = []
  let one = 0
  for (const count of [1, 2, 4]) {
    const { perSecond, joinedMs } = await measure(servers, count)
    if (count === 1) one = perSecond
    const head = {
      name: `fleet: ${count} ${count === 1 ? 'worker' : 'workers'}`,
      backend,
      unit: 'records/s',
    }
    const least = LEAST.get(count)
    figures.push(
      least === undefined
        ? // Its share of the possible speed shows whether more workers can be compared with it.
          atLeast(head, perSecond, BEST_A_SECOND, 0.9)
        : atLeast(head, perSecond, one, least),
    )
    if (joinedMs !== undefined) {
      const joined = {
        name: 'fleet: a worker joins, until it has its share',
        backend,
        unit: 'ms',
      }
      figures.push(bounded(joined, joinedMs, JOIN_MS))
    }
  }
  return figures
}

async function measure(
  backend: BenchBackend,
  count: number,
): Promise<{
  readonly perSecond: number
  readonly joinedMs: number | undefined
}> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))).path
  const list = join(dir, 'list.csv')
  const records = RECORDS_A_WORKER * count + (count === JOINED ? RECORDS_TO_JOIN : 0)
  await writeContacts(list, records)
  const service = stack.use(
    await startService({
      ...(await moreStores(backend, String(count))),
      workers: [
        ...Array.from({ length: count }, () => [
          'email',
          `--delay=${ENGINE_MS}`,
          `--width=${WIDTH}`,
        ]),
        ['batch'],
      ],
      env: { CHUNK_RECORDS: String(CHUNK_RECORDS), REDIS_PREFIX: `fleet-${count}` },
    }),
  )
  const account = await service.account({ credits: records })
  const { id } = await uploadBatch(service, account, list, 'email')
  await untilBusy(service, id, count * SLOTS)
  await wait(WARM_UP_MS)
  const before = await answeredOver(service, id)
  await wait(MEASURED_MS - TASK_MS)
  const after = await answeredOver(service, id)
  if ((await answeredOf(service, id)).answered === records)
    throw new Error('the batch ended before its time was measured')
  const perSecond = (after.answered - before.answered) / ((after.atMs - before.atMs) / 1_000)
  const joinedMs = count === JOINED ? await joins(service, id) : undefined
  await service.call(account.liveKey, 'POST', `/v1/batches/${id}/cancel`)
  await waitForEnd(service, account, id)
  return { perSecond, joinedMs }
}

/** Milliseconds until a returning worker has tasks again, from its readiness. */
async function joins(service: TestService, id: string): Promise<number> {
  const [worker] = service.workers
  if (worker === undefined) return Infinity
  await worker.kill('SIGTERM')
  await untilIdle(service, SLOTS)
  await worker.restart()
  const startedMs = performance.now()
  await untilBusy(service, id, JOINED * SLOTS)
  return performance.now() - startedMs
}

/** Tasks that workers have claimed. */
async function claimedIn({ db }: TestService): Promise<number> {
  const { rows } = await db.pool.query<{ n: number }>(
    'select count(*)::int as n from tasks where lease_until is not null and claimed',
  )
  return rows[0]?.n ?? 0
}

/** Waits until this many tasks are being processed; a slot whose task has just ended may be empty. */
async function untilBusy(service: TestService, id: string, slots: number): Promise<void> {
  while ((await claimedIn(service)) < slots * 0.9) {
    if (await hasEnded(service, id)) throw new Error('the batch ended before all workers had work')
    await wait(20)
  }
}

async function hasEnded({ db }: TestService, id: string): Promise<boolean> {
  const { rows } = await db.pool.query<{ status: string }>(
    'select status from batches where id = $1',
    [id],
  )
  return rows[0]?.status === 'completed'
}

async function untilIdle(service: TestService, slots: number): Promise<void> {
  while ((await claimedIn(service)) > slots) await wait(20)
}

interface Answered {
  readonly answered: number
  readonly atMs: number
}

/**
 * The mean of answered records over the duration of a task, and the middle of that time: tasks that
 * began together end together, so that measuring a moment earlier or later could shift a quarter of
 * them.
 */
async function answeredOver(service: TestService, id: string): Promise<Answered> {
  const seen: Answered[] = []
  const until = performance.now() + TASK_MS
  while (performance.now() < until) {
    seen.push(await answeredOf(service, id))
    await wait(100)
  }
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  return {
    answered: mean(seen.map(({ answered }) => answered)),
    atMs: mean(seen.map(({ atMs }) => atMs)),
  }
}

/** Answered records of the batch, by the database's clock. */
async function answeredOf({ db }: TestService, id: string): Promise<Answered> {
  const { rows } = await db.pool.query<{ answered: number; at_ms: number }>(
    `select sum(row_count - remaining)::int as answered,
       (extract(epoch from now()) * 1000)::float8 as at_ms
     from chunks where batch_id = $1`,
    [id],
  )
  const [{ answered, at_ms: atMs } = { answered: 0, at_ms: 0 }] = rows
  return { answered, atMs }
}
