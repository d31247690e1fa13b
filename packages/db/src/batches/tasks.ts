import { sql, type Kysely } from 'kysely'
import type pg from 'pg'
import type { Json } from '@plumbline/contract/outcome'
import type { KeyMode } from '@plumbline/contract/plans'
import {
  PURCHASED_CHECKS,
  type Check,
  type Depth,
  type Product,
} from '@plumbline/contract/products'
import { jsonbText } from '../jsonb.ts'
import type { Tables } from '../tables.ts'

/** A task that goes out as one job: the id and the lease it must be claimed with. */
export interface LeasedTask {
  readonly taskId: number
  readonly lease: number
  readonly batchId: string
  readonly check: Check
}

/** Makes the first tasks of a batch: one for each chunk and check that has subjects. */
export async function createTasks(
  tx: Kysely<Tables>,
  batch: { id: string; accountId: string; mode: KeyMode; depth: Depth },
): Promise<void> {
  await sql`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select batch_id, ${batch.accountId}, ${batch.mode}, k.kind, ${batch.depth}, no, k.size
    from chunks, lateral (values ('email', email_count), ('phone', phone_count),
      ('ip', ip_count), ('domain', domain_count)) as k(kind, size)
    where batch_id = ${batch.id} and k.size > 0
    order by no
  `.execute(tx)
  await sql`
    update chunks set settled_at = clock_timestamp() where batch_id = ${batch.id} and remaining = 0
  `.execute(tx)
}

/**
 * Hands out tasks, by database time: at most `slots` of a check in flight, round-robin over accounts
 * (the account with the least in flight first). An account with nothing in flight may go into the
 * `reserve` beyond the slots, so that it never waits for another's long chunks (decision 38). Of a
 * group that waits, one task is out at a time. What ran out of its lease counts as pending again, from the
 * second time on after a rest.
 */
export async function leaseTasks(
  pool: pg.Pool,
  options: { slots: Readonly<Record<Check, number>>; reserve: number; leaseMs: number },
): Promise<readonly LeasedTask[]> {
  const { rows } = await pool.query<{
    id: number
    lease: number
    batch_id: string
    check_kind: Check
  }>({
    name: 'tasks.lease',
    text: LEASE_TASKS,
    values: [
      Object.keys(options.slots),
      Object.values(options.slots),
      options.reserve,
      options.leaseMs,
      PURCHASED_CHECKS,
    ],
  })
  return rows.map((row) => ({
    taskId: row.id,
    lease: row.lease,
    batchId: row.batch_id,
    check: row.check_kind,
  }))
}

// One dispatcher at a time: the bound on what is in flight is then exact. It waits for no lock: what another
// transaction has in hand (a list being canceled, an arrival that hangs) is left for a later round, as
// all lists would wait with it.
const LEASE_TASKS = `
  with turn as (
    select pg_try_advisory_xact_lock(hashtext('tasks.lease')) as ours
  ), lost as (
    -- Rests longer the more workers were lost with it, by chance within half and one and a half: what
    -- went down together comes apart, and a machine that restarts all the time is not taken for a
    -- subject that breaks its engine.
    update tasks t set lease_until = null, due_at = case when t.attempts < 2 then t.due_at else
        clock_timestamp()
          + $4::int * interval '1 ms' * 2 ^ (t.attempts - 2) * (0.5 + random()) end
    from (select id from tasks cross join turn
      where turn.ours and lease_until < clock_timestamp()
      for no key update of tasks skip locked) over
    where t.id = over.id
    returning t.id
  ), busy as (
    select check_kind, account_id, count(*)::int as n
    from tasks, turn where turn.ours and lease_until >= clock_timestamp()
    group by check_kind, account_id
  ), kinds as (
    select k.check_kind, k.slots - coalesce(sum(b.n), 0)::int as free
    from unnest($1::text[], $2::int[]) as k(check_kind, slots)
      cross join turn left join busy b on b.check_kind = k.check_kind
    where turn.ours
    group by k.check_kind, k.slots
  ), fresh as (
    select t.id, t.check_kind, t.account_id, b.created_at as since, t.chunk_no
    from kinds k
      cross join (select id, created_at, status from batches
        where status in ('running', 'canceling')) b
      cross join lateral (
        select id, check_kind, account_id, chunk_no from tasks
        where check_kind = k.check_kind and batch_id = b.id
          and lease_until is null and group_key is null
          -- Of a canceled batch only what may have been bought, as a look at what came of it.
          and (b.status = 'running' or (check_kind = any($5::text[])
            and (lease > 0 or indexes is not null)))
          and (due_at is null or due_at <= clock_timestamp())
        order by chunk_no limit greatest(k.free, 0) + $3) t
  ), waiting as (
    select t.id, g.check_kind, t.account_id, t.due_at as since, t.chunk_no
    from task_groups g cross join turn
      cross join lateral (
        (select id, account_id, due_at, chunk_no from tasks
         where check_kind = g.check_kind and group_key = g.group_key and lease_until is null
           and due_at <= clock_timestamp() and account_id > g.last_account_id
         order by account_id, id limit 1)
        union all
        (select id, account_id, due_at, chunk_no from tasks
         where check_kind = g.check_kind and group_key = g.group_key and lease_until is null
           and due_at <= clock_timestamp() and account_id <= g.last_account_id
         order by account_id, id limit 1)
        limit 1) t
    where turn.ours and g.quiet_until <= now() and g.next_at <= clock_timestamp()
      and not exists (select 1 from tasks l
        where l.check_kind = g.check_kind and l.group_key = g.group_key
          and l.lease_until >= clock_timestamp())
  ), placed as (
    select p.id, p.check_kind, row_number() over (
        partition by p.check_kind, p.account_id order by p.since, p.chunk_no, p.id
      ) + coalesce(b.n, 0) as place
    from (select * from fresh union all select * from waiting) p
      left join busy b on b.check_kind = p.check_kind and b.account_id = p.account_id
  ), chosen as (
    select r.id from (
      select *, row_number() over (partition by check_kind order by place, id) as turn_no
      from placed) r join kinds k on k.check_kind = r.check_kind
    where r.turn_no <= k.free
      or (r.place = 1 and r.turn_no <= greatest(k.free, 0) + $3)
  ), locked as (
    select t.id from tasks t join chosen c on c.id = t.id where t.lease_until is null
    for no key update of t skip locked
  ), leased as (
    update tasks t
    set lease = lease + 1,
        lease_until = clock_timestamp() + $4::int * interval '1 ms'
    from locked where t.id = locked.id
    returning t.id, t.lease, t.batch_id, t.check_kind, t.group_key, t.account_id
  ), served as (
    update task_groups g set last_account_id = s.account_id
    from (select h.check_kind, h.group_key, l.account_id
      from task_groups h join leased l on l.check_kind = h.check_kind and l.group_key = h.group_key
      for no key update of h skip locked) s
    where s.check_kind = g.check_kind and s.group_key = g.group_key
  )
  select id, lease, batch_id, check_kind from leased`

/** A task in hand, with what it asks. `lease` is the fencing number that all its writes carry. */
export interface ClaimedTask {
  readonly taskId: number
  readonly lease: number
  readonly batchId: string
  readonly accountId: string
  readonly mode: KeyMode
  readonly check: Check
  readonly depth: Depth
  readonly chunkNo: number
  readonly indexes: readonly number[] | null
  readonly states: readonly (Json | null)[] | null
  readonly attempts: number
  /** Whether the batch is being canceled: nothing new is begun for it. */
  readonly canceling: boolean
  readonly product: Product
  readonly chargeUnknown: boolean
  /** Whether the results tell how answers are known. */
  readonly explain: boolean
  /** Version of the weights that the batch is scored by. */
  readonly weights: string | null
  /** The chunk's subjects of every check, compressed. */
  readonly subjects: Buffer
}

/**
 * Takes a leased task in hand and loads what it asks, in one statement; undefined where the lease
 * ran out, the task is done or gone, or the job was delivered twice.
 */
export async function claimTask(
  pool: pg.Pool,
  task: { taskId: number; lease: number },
  leaseMs: number,
): Promise<ClaimedTask | undefined> {
  const { rows } = await pool.query<{
    lease: number
    batch_id: string
    account_id: string
    mode: KeyMode
    check_kind: Check
    depth: Depth
    chunk_no: number
    indexes: number[] | null
    states: (Json | null)[] | null
    attempts: number
    canceling: boolean
    product: Product
    charge_unknown: boolean
    explain: boolean
    weights: string | null
    subjects: Buffer
  }>({
    name: 'tasks.claim',
    text: `
      update tasks t
      set lease = t.lease + 1, attempts = t.attempts + 1, lease_until = clock_timestamp() + $3::int * interval '1 ms'
      from chunks c, batches b
      where t.id = $1 and t.lease = $2 and t.lease_until is not null
        and b.id = t.batch_id and b.status in ('running', 'canceling')
        and c.batch_id = t.batch_id and c.no = t.chunk_no
      returning t.lease, t.batch_id, t.account_id, t.mode, t.check_kind, t.depth, t.chunk_no,
        t.indexes, t.states, t.attempts, b.status = 'canceling' as canceling, b.product, b.charge_unknown,
        b.explain, b.weights, c.subjects`,
    values: [task.taskId, task.lease, leaseMs],
  })
  const row = rows[0]
  if (row === undefined) return undefined
  return {
    taskId: task.taskId,
    lease: row.lease,
    batchId: row.batch_id,
    accountId: row.account_id,
    mode: row.mode,
    check: row.check_kind,
    depth: row.depth,
    chunkNo: row.chunk_no,
    indexes: row.indexes,
    states: row.states,
    attempts: row.attempts,
    canceling: row.canceling,
    product: row.product,
    chargeUnknown: row.charge_unknown,
    explain: row.explain,
    weights: row.weights,
    subjects: row.subjects,
  }
}

/** Extends the leases of tasks in hand; answers the ids that are still held. */
export async function renewTasks(
  pool: pg.Pool,
  tasks: readonly { taskId: number; lease: number }[],
  leaseMs: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await pool.query<{ id: number }>({
    name: 'tasks.renew',
    text: `
      update tasks t set lease_until = clock_timestamp() + $3::int * interval '1 ms'
      from unnest($1::bigint[], $2::int[]) as held(id, lease)
      where t.id = held.id and t.lease = held.lease and t.lease_until is not null
      returning t.id`,
    values: [tasks.map((task) => task.taskId), tasks.map((task) => task.lease), leaseMs],
  })
  return new Set(rows.map((row) => row.id))
}

/** Gives a task in hand back, its attempt not spent: for a worker that stops. */
export async function returnTask(
  pool: pg.Pool,
  task: { taskId: number; lease: number },
): Promise<void> {
  await pool.query({
    name: 'tasks.return',
    text: `
      update tasks set lease_until = null, attempts = attempts - 1
      where id = $1 and lease = $2`,
    values: [task.taskId, task.lease],
  })
}

/** Puts a task in hand aside for a while, its attempt spent: for an engine that threw. */
export async function restTask(
  pool: pg.Pool,
  task: { taskId: number; lease: number },
  restMs: number,
): Promise<void> {
  await pool.query({
    name: 'tasks.rest',
    // Another lease: nobody holds it any more.
    text: `
      update tasks
      set lease = lease + 1, lease_until = null,
        due_at = clock_timestamp() + $3::int * interval '1 ms'
      where id = $1 and lease = $2`,
    values: [task.taskId, task.lease, restMs],
  })
}

/** Replaces a task in hand by two of half the subjects, to find a subject that breaks its engine. */
export async function splitTask(
  pool: pg.Pool,
  task: { taskId: number; lease: number },
  halves: readonly {
    indexes: readonly number[]
    states: readonly (Json | null)[] | null
    attempts: number
  }[],
): Promise<void> {
  await pool.query({
    name: 'tasks.split',
    text: `
      with task as (delete from tasks where id = $1 and lease = $2 returning *)
      insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size,
        states, attempts)
      select t.batch_id, t.account_id, t.mode, t.check_kind, t.depth, t.chunk_no,
        array(select jsonb_array_elements_text(h->'indexes')::int),
        jsonb_array_length(h->'indexes'), nullif(h->'states', 'null'), (h->>'attempts')::int
      from task t, jsonb_array_elements($3::jsonb) h`,
    values: [task.taskId, task.lease, jsonbText(halves)],
  })
}

/** Chunks whose tasks one statement drops: a hundred thousand where every subject waits by itself. */
const CHUNKS_A_DROP = 50

/** Drops every task of a batch: what is in hand finds its lease gone. */
export async function dropTasks(db: Kysely<Tables>, batchId: string): Promise<void> {
  for (let from = 0; ;) {
    const next = await db
      .selectFrom('tasks')
      .select('chunk_no')
      .where('batch_id', '=', batchId)
      .where('chunk_no', '>=', from)
      .orderBy('chunk_no')
      .limit(1)
      .executeTakeFirst()
    if (next === undefined) {
      if (from === 0) return
      // Once more: a delete waits for arrivals under way, and does not see the tasks that they put back.
      from = 0
      continue
    }
    from = next.chunk_no + CHUNKS_A_DROP
    await db
      .deleteFrom('tasks')
      .where('batch_id', '=', batchId)
      .where('chunk_no', '>=', next.chunk_no)
      .where('chunk_no', '<', from)
      .execute()
  }
}

/** Whether any task or stage is open, so that the dispatcher looks often. */
export async function anyOpenWork(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`
    select exists (select 1 from batches
      where status in ('analyzing', 'running', 'finalizing', 'canceling')) as open
  `.execute(db)
  return rows[0]?.open === true
}
