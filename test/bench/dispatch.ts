import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Check } from '@plumbline/contract/products'
import { advanceGroups, emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork } from '@plumbline/db/batches/tasks'
import type { Db } from '@plumbline/db/database'
import { grantGoodwill } from '@plumbline/metering/grant'
import { hold } from '@plumbline/metering/hold'
import { pack, type ChunkSubjects } from '@plumbline/pipeline/codec'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { runTask, type CheckRunner } from '@plumbline/pipeline/run-task'
import { openScorers } from '@plumbline/pipeline/scorers'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { openStorage } from '@plumbline/storage/open'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openPostgresTestQueue } from '@plumbline/testkit/queue'
import { openDispatchDatabase, type DispatchDatabase } from './dispatch-database.ts'
import { bounded, quantile, type Figure } from './figure.ts'
import { fillTables } from './fill-tables.ts'

// The dispatcher at full size, with tasks inserted directly: the time of a round while many tasks
// wait, the time until all of them are settled, and how long another account waits.

const CHUNKS = 1_000
const TASKS_A_CHUNK = 1_000
const SUBJECTS = CHUNKS * TASKS_A_CHUNK
/** Subjects of each other account: of one they wait for nothing, of one in a group that is due last. */
const FEW = 10
const GROUPS = 300_000
const RUNNING = 10_000
const CROWD = 49
/** Accounts with one batch each; those of all but each tenth are paused. */
const PAUSED = 10_000
const SLOTS = { email: 16, phone: 16, ip: 8, domain: 64 }
const ROUNDS = 400
/** Tasks that end between two rounds. */
const ENDING = 3
/** Milliseconds of a task of a thousand records if its engine answers at once, and if it is slow. */
const TASK_MS = 100
const SLOW_TASK_MS = 15_000

/**
 * Limits: of a round of the dispatcher, of ten records of another account, and of the time until a
 * million waiting tasks are settled.
 */
const ROUND_MS = 20
const OTHERS_MS = 5_000
const WAITING_OTHERS_MS = 3_000
const ALL_MINUTES = 20

/** State that the dispatcher keeps between rounds. */
interface Turn {
  readonly served: Map<Check, string>
  readonly growing: LeasedTask[]
  /** When groups were last brought forward, and where that ended. */
  advancedMs: number
  advancedAfter: string
}

const newTurn = (): Turn => ({
  served: new Map(),
  growing: [],
  advancedMs: -Infinity,
  advancedAfter: '',
})

/** Milliseconds between two steps that bring groups forward, as in the dispatcher. */
const ADVANCE_MS = 500

/** Measures rounds while groups wait, while batches run, and with many accounts. */
export async function run(): Promise<readonly Figure[]> {
  return [
    ...(await waitingGroups()),
    ...(await runningBatches()),
    await pausedBatches(),
    await manyAccounts(TASK_MS, 'ten records beside 49 accounts of 100,000 each'),
    await manyAccounts(SLOW_TASK_MS, 'the same, dispatched where tasks take 15 s'),
  ]
}

/** Rounds, each followed by a few tasks that are answered and settled, until nothing waits. */
async function waitingGroups(): Promise<readonly Figure[]> {
  await using place = await openDispatchDatabase(3)
  const { db } = place
  await fillTables(db, [
    `insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
       ip_count, domain_count, remaining, subjects, cells)
     select batch, no, no * size, size, size, size, 0, 0, 0, size, subjects, ''
     from (values ('bat_1', ${CHUNKS}, ${TASKS_A_CHUNK}, ${packedSubjects(TASKS_A_CHUNK)}),
         ('bat_2', 1, ${FEW}, ${packedSubjects(FEW)}),
         ('bat_3', 1, ${FEW}, ${packedSubjects(FEW)})) b(batch, chunks, size, subjects),
       generate_series(0, chunks - 1) no`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, states,
       group_key, due_at)
     select 'bat_1', 'acc_1', 'live', 'email', 'full', no / ${TASKS_A_CHUNK}, array[no % ${TASKS_A_CHUNK}], 1,
       '[{"tries": 1}]', 'mx:' || no % ${GROUPS}, now()
     from generate_series(0, ${SUBJECTS - 1}) no`,
    `insert into task_groups (check_kind, group_key, next_at)
     select 'email', 'mx:' || no, now() from generate_series(0, ${GROUPS - 1}) no`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     values ('bat_2', 'acc_2', 'live', 'email', 'full', 0, ${FEW})`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
     values ('bat_3', 'acc_3', 'live', 'email', 'full', 0, ${FEW}, 'mx:last', now())`,
    `insert into task_groups (check_kind, group_key, next_at)
     values ('email', 'mx:last', now())`,
  ])
  await holdCredits(db, 'acc_1', 'bat_1', SUBJECTS)
  await holdCredits(db, 'acc_2', 'bat_2', FEW)
  await holdCredits(db, 'acc_3', 'bat_3', FEW)
  await using worker = await openWorker(place)
  const roundsMs: number[] = []
  const turn = newTurn()
  const under: LeasedTask[] = []
  let ownRound = 0
  let lastMs = 0
  const startedMs = performance.now()
  const minutes = (): number => (performance.now() - startedMs) / 60_000
  while (worker.answeredCount() < SUBJECTS + 2 * FEW && minutes() < ALL_MINUTES) {
    const { tasks, ms } = await timedRound(db, turn)
    roundsMs.push(ms)
    if (tasks.some(({ accountId }) => accountId === 'acc_2')) ownRound = roundsMs.length
    if (tasks.some(({ accountId }) => accountId === 'acc_3')) lastMs = performance.now() - startedMs
    under.push(...tasks)
    await worker.settle(under.splice(0, ENDING))
  }
  const allMinutes = minutes()
  await requireSettled(db)
  const head = { backend: 'postgres', unit: 'ms' }
  return [
    bounded(
      { ...head, name: 'dispatch: round with 300,000 groups, p50' },
      quantile(roundsMs, 0.5),
      ROUND_MS,
    ),
    bounded(
      { ...head, name: 'dispatch: round with 300,000 groups, p99' },
      quantile(roundsMs, 0.99),
      ROUND_MS,
    ),
    bounded(
      { ...head, name: 'dispatch: a million tasks settled', unit: 'minutes' },
      allMinutes,
      ALL_MINUTES,
    ),
    bounded(
      { ...head, name: 'dispatch: a task of another account is dispatched after', unit: 'rounds' },
      ownRound,
      10,
    ),
    bounded(
      { ...head, name: 'dispatch: ten records in a group that is due last are dispatched after' },
      lastMs,
      WAITING_OTHERS_MS,
    ),
  ]
}

/** Subjects of a chunk, as an SQL literal. */
function packedSubjects(count: number): string {
  const places = [...Array(count).keys()]
  const email = { subjects: places.map((no) => `u${no}@host${no}.example`), places }
  return `'\\x${pack({ email } satisfies ChunkSubjects).toString('hex')}'::bytea`
}

async function holdCredits(db: Db, accountId: string, ref: string, credits: number): Promise<void> {
  await grantGoodwill(db, accountId, credits, ref)
  await db.kysely
    .transaction()
    .execute((tx) => hold(tx, { accountId, ref, credits, product: 'email' }))
}

/** @throws unless every subject was answered, charged once, and both batches can be finished */
async function requireSettled(db: Db): Promise<void> {
  const { rows } = await db.pool.query<Record<string, number>>(
    `select (select count(*)::int from tasks) as tasks,
       (select count(*)::int from chunks where settled_at is null) as chunks,
       (select count(*)::int from batches where status <> 'finalizing') as batches,
       (select sum(credits - settled)::int from credit_holds) as held`,
  )
  const left = Object.entries(rows[0] ?? {}).filter(([, count]) => count !== 0)
  if (left.length > 0) throw new Error(`left over: ${JSON.stringify(Object.fromEntries(left))}`)
}

/** A worker in this process whose engine answers at once. */
interface Worker extends AsyncDisposable {
  settle(tasks: readonly LeasedTask[]): Promise<void>
  answeredCount(): number
}

async function openWorker({ db, url, dir }: DispatchDatabase): Promise<Worker> {
  await using stack = new AsyncDisposableStack()
  await migrateQueue(url)
  const queue = stack.use(await openPostgresTestQueue(url))
  const files = pathToFileURL(join(dir, 'files')).href
  const note = (fields: object, message: string): void => console.error(message, fields)
  const pipeline: Pipeline = {
    db,
    queue: queue.backend,
    storage: stack.use(await openStorage({ url: files, scratchDir: dir })),
    installationKey: createInstallationKey(randomUUID()),
    scorers: await openScorers(db, packagedWeights(), createScorer),
    scratchDir: dir,
    limits: DEFAULT_LIMITS,
    log: { debug: () => {}, info: () => {}, warn: note, error: note },
  }
  const leases = stack.use(createTaskLeases(pipeline))
  const engine = instantEngine<Check>('email')
  let answered = 0
  const runner: CheckRunner = {
    run: async (request) => {
      answered += request.subjects.length
      return await engine.run(request)
    },
  }
  const { signal } = new AbortController()
  const owned = stack.move()
  return {
    settle: async (tasks) => {
      await Promise.all(tasks.map((task) => runTask(pipeline, leases, () => runner, task, signal)))
    },
    answeredCount: () => answered,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function runningBatches(): Promise<readonly Figure[]> {
  await using place = await openDispatchDatabase(RUNNING)
  const { db } = place
  await fillTables(db, [
    `insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
       ip_count, domain_count, remaining, subjects, cells)
     select id, 0, 0, 1, 1, 1, 0, 0, 0, 1, '', '' from batches`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select id, account_id, 'live', 'email', 'full', 0, 1 from batches`,
  ])
  const roundsMs = await timesOfRounds(db, ROUNDS)
  const startedMs = performance.now()
  await closeFinishedBatches(db)
  const closeMs = performance.now() - startedMs
  const head = { backend: 'postgres', unit: 'ms' }
  return [
    bounded(
      { ...head, name: 'dispatch: round with 10,000 batches, p50' },
      quantile(roundsMs, 0.5),
      ROUND_MS,
    ),
    bounded(
      { ...head, name: 'dispatch: round with 10,000 batches, p99' },
      quantile(roundsMs, 0.99),
      ROUND_MS,
    ),
    bounded({ ...head, name: 'dispatch: search for ended batches, every 5 s' }, closeMs, 100),
  ]
}

/** Rounds while most accounts have paused their batch, whose tasks are ready. */
async function pausedBatches(): Promise<Figure> {
  await using place = await openDispatchDatabase(PAUSED, PAUSED)
  const { db } = place
  await fillTables(db, [
    `update batches set status = 'paused' where right(id, 1) <> '0'`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select id, account_id, 'live', 'email', 'full', 0, 1000 from batches`,
  ])
  const roundsMs = await timesOfRounds(db, ROUNDS / 2)
  const name = 'dispatch: round beside 9,000 accounts with a paused batch, p99'
  const head = { backend: 'postgres', unit: 'ms' }
  return bounded({ ...head, name }, quantile(roundsMs, 0.99), ROUND_MS)
}

async function manyAccounts(taskMs: number, what: string): Promise<Figure> {
  await using place = await openDispatchDatabase(CROWD + 1)
  const { db } = place
  await fillTables(db, [
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select 'bat_' || a, 'acc_' || a, 'live', 'email', 'full', no, 1000
     from generate_series(1, ${CROWD}) a, generate_series(0, 99) no`,
  ])
  const turn = newTurn()
  const ending: Promise<unknown>[] = []
  const last = `acc_${CROWD + 1}`
  let sentMs = 0
  let waitedMs = Infinity
  const startedMs = performance.now()
  while (waitedMs === Infinity && performance.now() - startedMs < 60_000) {
    if (sentMs === 0 && performance.now() - startedMs > 3_000) {
      await db.pool.query(
        `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
         values ('bat_${CROWD + 1}', $1, 'live', 'email', 'full', 0, 10)`,
        [last],
      )
      sentMs = performance.now()
    }
    const { tasks } = await timedRound(db, turn)
    if (tasks.some(({ accountId }) => accountId === last)) waitedMs = performance.now() - sentMs
    if (tasks.length > 0) ending.push(wait(taskMs).then(() => end(db, tasks)))
    await wait(5)
  }
  await Promise.all(ending)
  const takenMs = waitedMs + (taskMs === TASK_MS ? TASK_MS : 0)
  return bounded({ name: `dispatch: ${what}`, backend: 'postgres', unit: 'ms' }, takenMs, OTHERS_MS)
}

/** Milliseconds of each of several rounds, after which a few tasks end. */
async function timesOfRounds(db: Db, count: number): Promise<readonly number[]> {
  const roundsMs: number[] = []
  const turn = newTurn()
  const under: LeasedTask[] = []
  for (let round = 1; round <= count; round++) {
    const { tasks, ms } = await timedRound(db, turn)
    roundsMs.push(ms)
    under.push(...tasks)
    await end(db, under.splice(0, ENDING))
  }
  return roundsMs
}

/** One round of the dispatcher, without the queue. */
async function timedRound(
  db: Db,
  turn: Turn,
): Promise<{ readonly tasks: readonly LeasedTask[]; readonly ms: number }> {
  const { served, growing } = turn
  const startedMs = performance.now()
  await openWork(db)
  const leased = await leaseTasks(db, {
    slots: SLOTS,
    reserve: 4,
    leaseMs: 30_000,
    served,
    growing: growing.splice(0),
    waitingFirst: Math.random() < 0.5,
  })
  await emptyOpenGroups(db)
  if (startedMs - turn.advancedMs > ADVANCE_MS) {
    turn.advancedMs = startedMs
    turn.advancedAfter = await advanceGroups(db, turn.advancedAfter)
  }
  await leaseStages(db, 30_000)
  const ms = performance.now() - startedMs
  for (const { check, accountId } of leased) served.set(check, accountId)
  growing.push(...leased.filter(({ grows }) => grows))
  return { tasks: leased.filter(({ grows }) => !grows), ms }
}

/** Removes dispatched tasks, as if they had been processed. */
async function end(db: Db, tasks: readonly LeasedTask[]): Promise<void> {
  await db.pool.query('delete from tasks where id = any($1)', [tasks.map(({ taskId }) => taskId)])
}
