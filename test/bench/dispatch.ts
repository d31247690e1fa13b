import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Check } from '@plumbline/contract/products'
import { emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork } from '@plumbline/db/batches/tasks'
import { openDatabase, type Db } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { bounded, quantile, type Figure } from './figure.ts'

// The dispatcher at full size, with tasks inserted directly: the time of a round while many tasks
// wait, and how long another account waits. A dispatched task is deleted as if it had been answered.

const CHUNKS = 1_000
const TASKS_A_CHUNK = 1_000
const GROUPS = 300_000
const RUNNING = 10_000
const CROWD = 49
const SLOTS = { email: 16, phone: 16, ip: 8, domain: 64 }
const ROUNDS = 400
/** Tasks that end between two rounds. */
const ENDING = 3
/** Milliseconds of a task of a thousand records if its engine answers at once. */
const TASK_MS = 100

/** Targets: a round of the dispatcher, and ten records of another account meanwhile. */
const ROUND_MS = 20
const OTHERS_MS = 5_000

/** State that the dispatcher keeps between rounds. */
interface Turn {
  readonly served: Map<Check, string>
  readonly growing: LeasedTask[]
}

/** Measures rounds while groups wait, while batches run, and with many accounts. */
export async function run(): Promise<readonly Figure[]> {
  return [...(await waitingGroups()), ...(await runningBatches()), ...(await manyAccounts())]
}

async function waitingGroups(): Promise<readonly Figure[]> {
  await using place = await openDispatchDatabase(2)
  const { db } = place
  await fill(
    db,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, states,
       group_key, due_at)
     select 'bat_1', 'acc_1', 'live', 'email', 'full', no / ${TASKS_A_CHUNK}, array[no % ${TASKS_A_CHUNK}], 1,
       '[{"tries": 1}]', 'mx:' || no % ${GROUPS}, now()
     from generate_series(0, ${CHUNKS * TASKS_A_CHUNK - 1}) no`,
    `insert into task_groups (check_kind, group_key, next_at)
     select 'email', 'mx:' || no, now() from generate_series(0, ${GROUPS - 1}) no`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     values ('bat_2', 'acc_2', 'live', 'email', 'full', 0, 10)`,
  )
  const roundsMs: number[] = []
  const turn: Turn = { served: new Map(), growing: [] }
  const under: LeasedTask[] = []
  let subjects = 0
  let ownRound = 0
  const startedMs = performance.now()
  for (let round = 1; round <= ROUNDS; round++) {
    const { tasks, ms } = await timedRound(db, turn)
    roundsMs.push(ms)
    if (tasks.some(({ accountId }) => accountId === 'acc_2')) ownRound = round
    under.push(...tasks)
    subjects += await end(db, under.splice(0, ENDING))
  }
  const seconds = (performance.now() - startedMs) / 1000
  const head = { backend: 'postgres', unit: 'ms' }
  const allMinutes = (CHUNKS * TASKS_A_CHUNK) / (subjects / seconds) / 60
  return [
    bounded({ ...head, name: 'round, 300k groups, p50' }, quantile(roundsMs, 0.5), ROUND_MS),
    bounded({ ...head, name: 'round, 300k groups, p99' }, quantile(roundsMs, 0.99), ROUND_MS),
    bounded({ ...head, name: 'a million subjects handed out', unit: 'minutes' }, allMinutes, 20),
    bounded({ ...head, name: "another's task goes out", unit: 'rounds' }, ownRound, 10),
  ]
}

async function runningBatches(): Promise<readonly Figure[]> {
  await using place = await openDispatchDatabase(RUNNING)
  const { db } = place
  await fill(
    db,
    `insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
       ip_count, domain_count, remaining, subjects, cells)
     select id, 0, 0, 1, 1, 1, 0, 0, 0, 1, '', '' from batches`,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select id, account_id, 'live', 'email', 'full', 0, 1 from batches`,
  )
  const roundsMs: number[] = []
  const turn: Turn = { served: new Map(), growing: [] }
  const under: LeasedTask[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const { tasks, ms } = await timedRound(db, turn)
    roundsMs.push(ms)
    under.push(...tasks)
    await end(db, under.splice(0, ENDING))
  }
  const startedMs = performance.now()
  await closeFinishedBatches(db)
  const closeMs = performance.now() - startedMs
  const head = { backend: 'postgres', unit: 'ms' }
  return [
    bounded({ ...head, name: 'round, 10k batches, p50' }, quantile(roundsMs, 0.5), ROUND_MS),
    bounded({ ...head, name: 'round, 10k batches, p99' }, quantile(roundsMs, 0.99), ROUND_MS),
    bounded({ ...head, name: 'search for ended batches, each 5 s' }, closeMs, 100),
  ]
}

async function manyAccounts(): Promise<readonly Figure[]> {
  await using place = await openDispatchDatabase(CROWD + 1)
  const { db } = place
  await fill(
    db,
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select 'bat_' || a, 'acc_' || a, 'live', 'email', 'full', no, 1000
     from generate_series(1, ${CROWD}) a, generate_series(0, 99) no`,
  )
  const turn: Turn = { served: new Map(), growing: [] }
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
    if (tasks.length > 0) ending.push(wait(TASK_MS).then(() => end(db, tasks)))
    await wait(5)
  }
  await Promise.all(ending)
  const head = { backend: 'postgres', unit: 'ms' }
  return [bounded({ ...head, name: 'beside 49 accounts of 100k' }, waitedMs + TASK_MS, OTHERS_MS)]
}

/** One round of the dispatcher, without the queue. */
async function timedRound(
  db: Db,
  { served, growing }: Turn,
): Promise<{ readonly tasks: readonly LeasedTask[]; readonly ms: number }> {
  const startedMs = performance.now()
  await openWork(db)
  const leased = await leaseTasks(db, {
    slots: SLOTS,
    reserve: 4,
    leaseMs: 30_000,
    served,
    growing: growing.splice(0),
  })
  await emptyOpenGroups(db)
  await leaseStages(db, 30_000)
  const ms = performance.now() - startedMs
  for (const { check, accountId } of leased) served.set(check, accountId)
  growing.push(...leased.filter(({ grows }) => grows))
  return { tasks: leased.filter(({ grows }) => !grows), ms }
}

/** Returns how many subjects the tasks had. */
async function end(db: Db, tasks: readonly LeasedTask[]): Promise<number> {
  const ids = tasks.map(({ taskId }) => taskId)
  const { rows } = await db.pool.query<{ size: number }>(
    `with gone as (delete from tasks where id = any($1) returning id, size),
     free as (update task_groups set out_task = null, quiet_until = '-infinity' where out_task = any($1))
     select size from gone`,
    [ids],
  )
  return rows.reduce((sum, { size }) => sum + size, 0)
}

/** A database with this many running batches, of a hundred accounts at most. */
async function openDispatchDatabase(
  batches: number,
): Promise<AsyncDisposable & { readonly db: Db }> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'plumbline-bench-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const server = await startEmbeddedPostgres({ dataDir: directory })
  stack.defer(() => server.stop())
  const db = stack.use(
    openDatabase({
      url: server.url,
      poolSize: 4,
      applicationName: 'bench',
      statementMs: 600_000,
    }),
  )
  await migrate(db)
  await fill(
    db,
    `insert into accounts (id, email, plan)
     select 'acc_' || no, no || '@b.example', 'pro' from generate_series(1, least(${batches}, 100)) no`,
    `insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
       retention_days, requested, source_key, file_bytes, ats)
     select 'bat_' || no, 'acc_' || (no - 1) % 100 + 1, 'live', 'email', 'running', false, true, true, 30,
       '{}', 'u', 1, '{}'
     from generate_series(1, ${batches}) no`,
  )
  const owned = stack.move()
  return { db, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Writes rows without the state triggers, and updates the planner's statistics. */
async function fill(db: Db, ...statements: readonly string[]): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query('set session_replication_role = replica')
    for (const statement of statements) await client.query(statement)
    await client.query('reset session_replication_role')
    await client.query('analyze tasks, task_groups, batches, chunks')
  } finally {
    client.release()
  }
}
