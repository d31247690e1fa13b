import { sql, type RawBuilder } from 'kysely'
import type { Json } from '@plumbline/contract/outcome'
import type { KeyMode } from '@plumbline/contract/plans'
import { CHECKS, type Check, type Depth, type Product } from '@plumbline/contract/products'
import { preparedAs, queriesOf, type Db, type Tx } from '../database.ts'
import { jsonbText } from '../jsonb.ts'
import { sqlStates, STAGE_STATES, TASK_STATES_OF_BATCH, WORKED_STATES } from './states.ts'

/** A running batch whose tasks are not all created yet. */
export interface StartingBatch {
  readonly id: string
  readonly accountId: string
  readonly mode: KeyMode
  readonly product: Product
  /** First chunk without tasks. */
  readonly from: number
}

/** Locks the running batch with the fewest tasks created, for the rest of the transaction. */
export async function lockStarting(tx: Tx): Promise<StartingBatch | undefined> {
  return await tx
    .selectFrom('batches')
    .select(['id', 'account_id as accountId', 'mode', 'product'])
    .select(sql<number>`tasks_from`.as('from'))
    .where('tasks_from', 'is not', null)
    .where('status', '=', 'running')
    .orderBy('tasks_from')
    .limit(1)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/**
 * Creates the tasks of the next chunks of a running batch that the caller has locked: one for each
 * chunk and check that has subjects. Chunks without subjects are marked as settled.
 */
export async function createTasks(
  tx: Tx,
  batch: StartingBatch & { readonly depth: Depth },
  mostChunks: number,
): Promise<void> {
  const { id, from } = batch
  const until = from + mostChunks
  await sql`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size)
    select c.batch_id, ${batch.accountId}, ${batch.mode}, k.kind, ${batch.depth}, c.no,
      -- A sample may have answered some.
      case when k.known is not null then array(
        select at from generate_series(0, k.size - 1) at where at <> all(k.known)) end,
      k.size - coalesce(cardinality(k.known), 0)
    from chunks c, lateral (
      select v.kind, v.size, (select array_agg(at) from parts p, unnest(p.indexes) at
        where p.batch_id = c.batch_id and p.chunk_no = c.no
          and p.check_kind = v.kind) as known
      from (values ('email', c.email_count), ('phone', c.phone_count),
        ('ip', c.ip_count), ('domain', c.domain_count)) as v(kind, size)) k
    where c.batch_id = ${id} and c.no >= ${from} and c.no < ${until}
      and k.size > coalesce(cardinality(k.known), 0)
    order by c.no
  `.execute(tx)
  await sql`
    update chunks set settled_at = clock_timestamp()
    where batch_id = ${id} and no >= ${from} and no < ${until} and remaining = 0
      and settled_at is null
  `.execute(tx)
  await sql`
    update batches set tasks_from = (select ${until}::int
      where exists (select from chunks where batch_id = ${id} and no >= ${until}))
    where id = ${id}
  `.execute(tx)
}

/**
 * Number of chunks whose tasks one statement changes or deletes: up to 100,000 tasks if every
 * subject is a task of its own.
 */
const CHUNKS_AT_ONCE = 50

/**
 * The next chunks from `from` on whose tasks one statement is to change: the first one has tasks,
 * and `until` is the first chunk after them. Undefined if there are no more tasks.
 */
export async function nextChunksWithTasks(
  db: Db | Tx,
  batchId: string,
  from: number,
): Promise<{ readonly first: number; readonly until: number } | undefined> {
  const next = await queriesOf(db)
    .selectFrom('tasks')
    .select('chunk_no')
    .where('batch_id', '=', batchId)
    .where('chunk_no', '>=', from)
    .orderBy('chunk_no')
    .limit(1)
    .executeTakeFirst()
  if (next === undefined) return undefined
  return { first: next.chunk_no, until: next.chunk_no + CHUNKS_AT_ONCE }
}

/**
 * What all writes for a claimed task carry: its number, its fencing number, and whose subjects it
 * has. After a failover that lost the last commits, the numbers of lost tasks are issued again, and
 * each new task gets the same fencing numbers as the one that a worker still holds.
 */
export interface TaskFence {
  readonly taskId: number
  readonly lease: number
  readonly batchId: string
  readonly chunkNo: number
  readonly check: Check
}

/** Condition on `tasks`: the row is still the claimed task. */
export function isHeld(task: TaskFence): RawBuilder<unknown> {
  // No index serves the second comparison, so that the primary key always finds the row.
  return sql`id = ${task.taskId} and lease = ${task.lease}
    and (batch_id, chunk_no, check_kind)
      is not distinct from (${task.batchId}, ${task.chunkNo}, ${task.check})`
}

/** A claimed task with its subjects. */
export interface ClaimedTask extends TaskFence {
  readonly accountId: string
  readonly mode: KeyMode
  readonly depth: Depth
  readonly indexes: readonly number[] | null
  readonly states: readonly (Json | null)[] | null
  readonly attempts: number
  /** Whether the batch is being canceled: no new lookups are begun for it. */
  readonly canceling: boolean
  readonly product: Product
  readonly chargeUnknown: boolean
  /** Whether results include the evidence. */
  readonly explain: boolean
  /** Version of the score weights of the batch. */
  readonly weights: string | null
  /** The chunk's subjects of every check, compressed. */
  readonly subjects: Buffer
}

/**
 * Claims a leased task and loads its subjects, in one statement; undefined if the lease ran out,
 * the task is done or deleted, or the job was delivered twice.
 */
export async function claimTask(
  db: Db,
  task: { taskId: number; lease: number },
  leaseMs: number,
): Promise<ClaimedTask | undefined> {
  const { rows } = await db.pool.query<ClaimedTask>({
    name: 'tasks.claim',
    text: `
      update tasks t
      set lease = t.lease + 1, attempts = t.attempts + 1, claimed = true,
        lease_until = clock_timestamp() + $3::int * interval '1 ms'
      from chunks c, batches b
      where t.id = $1 and t.lease = $2 and t.lease_until is not null
        and b.id = t.batch_id and b.status in ${sqlStates(TASK_STATES_OF_BATCH)}
        and c.batch_id = t.batch_id and c.no = t.chunk_no
      returning t.id as "taskId", t.lease, t.batch_id as "batchId", t.account_id as "accountId",
        t.mode, t.check_kind as check, t.depth, t.chunk_no as "chunkNo", t.indexes, t.states,
        t.attempts, b.status = 'canceling' as canceling, b.product,
        b.charge_unknown as "chargeUnknown", b.explain, b.weights, c.subjects`,
    values: [task.taskId, task.lease, leaseMs],
  })
  return rows[0]
}

/**
 * Extends the leases of claimed tasks and returns the ids that are still held. A task that another
 * transaction has locked, for example to store its outcomes, is skipped, so that the others need
 * not wait for it.
 */
export async function renewTasks(
  db: Db,
  tasks: readonly TaskFence[],
  leaseMs: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await db.pool.query<{ id: number }>({
    name: 'tasks.renew',
    text: `
      with held as (
        select t.id
        from unnest($1::bigint[], $2::int[], $4::text[], $5::int[], $6::text[])
            as h(id, lease, batch_id, chunk_no, check_kind)
          join tasks t on t.id = h.id and t.lease = h.lease and t.lease_until is not null
            and (t.batch_id, t.chunk_no, t.check_kind)
              is not distinct from (h.batch_id, h.chunk_no, h.check_kind)
      ), free as (
        select t.id from tasks t join held on held.id = t.id
        where t.lease_until is not null for no key update of t skip locked
      ), renewed as (
        update tasks t set lease_until = clock_timestamp() + $3::int * interval '1 ms'
        from free where t.id = free.id
      )
      select id from held`,
    values: [
      tasks.map((task) => task.taskId),
      tasks.map((task) => task.lease),
      leaseMs,
      tasks.map((task) => task.batchId),
      tasks.map((task) => task.chunkNo),
      tasks.map((task) => task.check),
    ],
  })
  return new Set(rows.map((row) => row.id))
}

/** Returns a claimed task, its attempt not counted: for a worker that shuts down. */
export async function returnTask(db: Db, task: TaskFence): Promise<void> {
  await sql`
    ${preparedAs('tasks.return')}
    update tasks set lease_until = null, attempts = attempts - 1 where ${isHeld(task)}
  `.execute(queriesOf(db))
}

/** Returns a claimed task with a delay, its attempt counted: for an engine that threw an error. */
export async function retryTaskLater(db: Db, task: TaskFence, delayMs: number): Promise<void> {
  await sql`
    ${preparedAs('tasks.retry-later')}
    update tasks
    set lease_until = null, due_at = clock_timestamp() + ${delayMs}::int * interval '1 ms'
    where ${isHeld(task)}
  `.execute(queriesOf(db))
}

/**
 * Replaces a claimed task by two of half the subjects, to find the subject that fails; does nothing
 * if the task holds other subjects than its worker has.
 */
export async function splitTask(
  db: Db,
  task: TaskFence,
  halves: readonly {
    indexes: readonly number[]
    states: readonly (Json | null)[] | null
    attempts: number
  }[],
): Promise<void> {
  const indexes = halves.flatMap((half) => half.indexes)
  await sql`
    ${preparedAs('tasks.split')}
    with task as (
      delete from tasks where ${isHeld(task)}
        and (indexes = ${indexes}::int[] or (indexes is null and size = ${indexes.length}))
      returning *)
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size,
      states, attempts)
    select t.batch_id, t.account_id, t.mode, t.check_kind, t.depth, t.chunk_no,
      array(select jsonb_array_elements_text(h->'indexes')::int),
      jsonb_array_length(h->'indexes'), nullif(h->'states', 'null'), (h->>'attempts')::int
    from task t, jsonb_array_elements(${jsonbText(halves)}::jsonb) h
  `.execute(queriesOf(db))
}

/** Open tasks and stages, as the dispatcher needs them for its next pause. */
export interface OpenWork {
  /** Whether any task or stage is open. */
  readonly open: boolean
  /** Whether tasks are still to be created. */
  readonly starting: boolean
  /**
   * Milliseconds until something that waits is due, by database time; infinite if nothing waits for
   * a time. 0 while a task is leased or a stage is under way: its end may free capacity, or leave
   * something to dispatch.
   */
  readonly quietMs: number
}

/**
 * Reads which work is open, so that the dispatcher can choose its next pause; the cost does not
 * grow with the amount of work.
 */
export async function openWork(db: Db): Promise<OpenWork> {
  const { rows } = await db.pool.query<OpenWork>({
    name: 'batches.open',
    text: `
      select exists (select from batches where status in ${sqlStates(WORKED_STATES)}) as open,
        exists (select from batches
          where tasks_from is not null and status = 'running') as starting,
        case when exists (select from tasks where lease_until is not null)
            or exists (select from batches where status in ${sqlStates(STAGE_STATES)}) then 0
          else greatest(0, 1000 * (coalesce(extract(epoch from least(
              (select min(due_at) from tasks
                where lease_until is null and group_key is null and due_at is not null),
              (select min(g.due_at) from unnest($1::text[]) as k(check_kind) cross join lateral (
                select greatest(next_at, quiet_until) as due_at from task_groups t
                where t.check_kind = k.check_kind
                order by greatest(next_at, quiet_until) limit 1) g))), 'infinity')
            - extract(epoch from clock_timestamp()))) end::float8 as "quietMs"`,
    values: [CHECKS],
  })
  return rows[0] ?? { open: false, starting: false, quietMs: 0 }
}
