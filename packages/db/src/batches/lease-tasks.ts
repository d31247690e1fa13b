import { PURCHASED_CHECKS, type Check } from '@plumbline/contract/products'
import type { Db } from '../database.ts'
import { sqlStates, TASK_STATES_OF_BATCH } from './states.ts'
import { isTask } from './task-states.ts'

/** A task that goes out as one job: the id and the lease it must be claimed with. */
export interface LeasedTask {
  readonly taskId: number
  readonly lease: number
  readonly batchId: string
  readonly check: Check
}

/**
 * Hands out tasks, by database time: at most `slots` of a check leased, round-robin over accounts
 * (the account with the least leased first). An account with nothing leased may go into the
 * `reserve` beyond the slots, so that it never waits for another's long chunks (decision 38). Of a
 * group that waits, one task is out at a time. What ran out of its lease counts as pending again, from the
 * second time on after a rest.
 */
export async function leaseTasks(
  db: Db,
  options: { slots: Readonly<Record<Check, number>>; reserve: number; leaseMs: number },
): Promise<readonly LeasedTask[]> {
  const { rows } = await db.pool.query<{
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

/**
 * The parts of the statement that leases tasks, each read by those after it. Parameters: $1 checks and $2 their
 * slots, $3 the reserve, $4 length of a lease in milliseconds, $5 checks that buy something.
 */
const PARTS = {
  /** Gives every parameter its type, whichever parts are used. */
  parameters: `
    select $1::text[] as checks, $2::int[] as slots, $3::int as reserve, $4::int as lease_ms,
      $5::text[] as purchased`,
  /**
   * One dispatcher at a time: the bound on what is leased is then exact. It waits for no lock: what another
   * transaction has locked (a batch being canceled, outcomes that are stored) is left for a later round, as all
   * batches would wait with it.
   */
  turn: `
  select pg_try_advisory_xact_lock(hashtext('tasks.lease')) as ours`,
  /**
   * Tasks whose lease ran out are given back. They rest longer the more workers were lost with them, by chance
   * within half and one and a half: what went down together comes apart, and a machine that restarts all the
   * time is not taken for a subject that breaks its check.
   */
  lost: `
  update tasks t set lease_until = null, due_at = case when t.attempts < 2 then t.due_at else
      clock_timestamp()
        + $4::int * interval '1 ms' * 2 ^ (t.attempts - 2) * (0.5 + random()) end
  from (select id from tasks cross join turn
    where turn.ours and lease_until < clock_timestamp()
    for no key update of tasks skip locked) over
  where t.id = over.id
  returning t.id`,
  /** How many tasks of each check and account are leased. */
  busy: `
  select check_kind, account_id, count(*)::int as n
  from tasks, turn where turn.ours and lease_until >= clock_timestamp()
  group by check_kind, account_id`,
  /** Free slots of each check. */
  kinds: `
  select k.check_kind, k.slots - coalesce(sum(b.n), 0)::int as free
  from unnest($1::text[], $2::int[]) as k(check_kind, slots)
    cross join turn left join busy b on b.check_kind = k.check_kind
  where turn.ours
  group by k.check_kind, k.slots`,
  /**
   * Pending tasks that are due, as many of each check and batch as could go out. Of a canceled batch only
   * those for which something may have been bought, to store what came of it.
   */
  fresh: `
  select t.id, t.check_kind, t.account_id, b.created_at as since, t.chunk_no
  from kinds k
    cross join (select id, created_at, status from batches
      where status in ${sqlStates(TASK_STATES_OF_BATCH)}) b
    cross join lateral (
      select id, check_kind, account_id, chunk_no from tasks
      where check_kind = k.check_kind and batch_id = b.id
        and ${isTask('pending', 'tasks')}
        and (b.status = 'running' or (check_kind = any($5::text[])
          and (lease > 0 or indexes is not null)))
        and (due_at is null or due_at <= clock_timestamp())
      order by chunk_no limit greatest(k.free, 0) + $3) t`,
  /** One due task of each group that has room: of the account after the one served last. */
  waiting: `
  select t.id, g.check_kind, t.account_id, t.due_at as since, t.chunk_no
  from task_groups g cross join turn
    cross join lateral (
      (select id, account_id, due_at, chunk_no from tasks
       where check_kind = g.check_kind and group_key = g.group_key and ${isTask('waiting', 'tasks')}
         and due_at <= clock_timestamp() and account_id > g.last_account_id
       order by account_id, id limit 1)
      union all
      (select id, account_id, due_at, chunk_no from tasks
       where check_kind = g.check_kind and group_key = g.group_key and ${isTask('waiting', 'tasks')}
         and due_at <= clock_timestamp() and account_id <= g.last_account_id
       order by account_id, id limit 1)
      limit 1) t
  where turn.ours and g.quiet_until <= now() and g.next_at <= clock_timestamp()
    and not exists (select 1 from tasks l
      where l.check_kind = g.check_kind and l.group_key = g.group_key
        and l.lease_until >= clock_timestamp())`,
  /** Position of each candidate in the order of its account, after what the account has leased. */
  placed: `
  select p.id, p.check_kind, row_number() over (
      partition by p.check_kind, p.account_id order by p.since, p.chunk_no, p.id
    ) + coalesce(b.n, 0) as place
  from (select * from fresh union all select * from waiting) p
    left join busy b on b.check_kind = p.check_kind and b.account_id = p.account_id`,
  /**
   * Candidates that go out: those of the accounts with the least leased first, within the free slots, and
   * within the reserve the first of an account that has nothing leased.
   */
  chosen: `
  select r.id from (
    select *, row_number() over (partition by check_kind order by place, id) as turn_no
    from placed) r join kinds k on k.check_kind = r.check_kind
  where r.turn_no <= k.free
    or (r.place = 1 and r.turn_no <= greatest(k.free, 0) + $3)`,
  /** Those that nobody else has locked. */
  locked: `
  select t.id from tasks t join chosen c on c.id = t.id where t.lease_until is null
  for no key update of t skip locked`,
  /** Gives the leases, with a fencing number each. */
  leased: `
  update tasks t
  set lease = lease + 1,
      lease_until = clock_timestamp() + $4::int * interval '1 ms'
  from locked where t.id = locked.id
  returning t.id, t.lease, t.batch_id, t.check_kind, t.group_key, t.account_id`,
  /** Notes of each group which account was served. */
  served: `
  update task_groups g set last_account_id = s.account_id
  from (select h.check_kind, h.group_key, l.account_id
    from task_groups h join leased l on l.check_kind = h.check_kind and l.group_key = h.group_key
    for no key update of h skip locked) s
  where s.check_kind = g.check_kind and s.group_key = g.group_key
  returning g.last_account_id`,
} as const

/** Name of a part of the statement. */
export type LeasePart = keyof typeof PARTS

/** The statement up to a part, which answers with the rows of that part. */
export function leaseStatement(last: LeasePart): string {
  return `${partsUpTo(last)} select * from ${last}`
}

function partsUpTo(last: LeasePart): string {
  const end = Object.keys(PARTS).indexOf(last) + 1
  const parts = Object.entries(PARTS).slice(0, end)
  return `with ${parts.map(([name, text]) => `${name} as (${text})`).join(', ')}`
}

const LEASE_TASKS = `${partsUpTo('served')} select id, lease, batch_id, check_kind from leased`
