import { CHECKS, PURCHASED_CHECKS, type Check } from '@plumbline/contract/products'
import type { Db } from '../database.ts'
import { withCachedPlans, type RunPlanned } from '../query-plans.ts'
import { mergeWaiting } from './merge-waiting.ts'
import { partsUpTo, statementUpTo } from './sql-parts.ts'
import { isTask } from './task-states.ts'

/** A leased task, dispatched as one job: its id, and the lease that a worker must claim it with. */
export interface LeasedTask {
  readonly taskId: number
  readonly lease: number
  readonly batchId: string
  readonly accountId: string
  readonly check: Check
  /** The waiting group that it was leased from; null if it did not wait in one. */
  readonly group: string | null
  /** Claims so far that did not end it: a job of such a claim may still be in the queue. */
  readonly attempts: number
  /**
   * Whether more due tasks of its chunk exist than one round merges: the task is passed to the next
   * round, and dispatched once it no longer grows.
   */
  readonly grows: boolean
}

/** Options of `leaseTasks`. */
export interface LeaseOptions {
  /** Maximum number of leased tasks of each check. */
  readonly slots: Readonly<Record<Check, number>>
  /**
   * Further tasks for accounts that have none leased, half of them small ones only; a single number
   * applies to every check.
   */
  readonly reserve: number | Readonly<Record<Check, number>>
  readonly leaseMs: number
  /** Tasks of the previous round that still grow; this round then reads no other groups. */
  readonly growing?: readonly LeasedTask[]
  /**
   * Whether an account's waiting tasks come before its ready ones. Neither always: each kind would
   * wait for as long as there are others.
   */
  readonly waitingFirst?: boolean
  /** The account that was served last, by check; the others come first. */
  readonly served?: ReadonlyMap<Check, string>
  /** The process that must hold the duty of dispatching; absent if no other process can lease. */
  readonly holder?: string | undefined
  /** Whether the statements are planned again, as is necessary from time to time while tables grow. */
  readonly replan?: boolean
  /**
   * Whether claimed tasks stay leased though their lease ran out: after an outage of the database
   * their workers, who could not renew them, are still at work.
   */
  readonly keepLost?: boolean
  /** Called with the tasks whose claim was lost, if any. */
  readonly onLost?: (tasks: readonly LostTask[]) => void
}

/**
 * A task whose claim was lost, with the lease of that claim. The job of the lease before may still be
 * in the queue: a claim takes the next lease.
 */
export type LostTask = Pick<LeasedTask, 'taskId' | 'lease' | 'batchId' | 'check'>

/**
 * Leases tasks, by database time: at most `slots` of each check, and `reserve` more for accounts that
 * have none leased, so that no account waits for another's long chunks (decision 38). Accounts with
 * the fewest leased tasks come first, then all in turn. Of a waiting group one task is leased at a
 * time; the due subjects of its chunk go with it. A claimed task whose lease ran out is ready again,
 * from the second time on after a delay; an unclaimed one stays leased, as its job may still wait in
 * its queue.
 */
export async function leaseTasks(db: Db, options: LeaseOptions): Promise<readonly LeasedTask[]> {
  const { growing = [] } = options
  return await withCachedPlans(db, options.replan ?? false, async (run) => {
    const leased = await leaseMore(run, options)
    const waited = [...growing, ...leased.filter(({ group }) => group !== null)]
    const merged = await mergeWaiting(run, waited, options.leaseMs)
    return [...growing, ...leased].flatMap((task) => {
      if (task.group === null) return [task]
      const as = merged.get(task.taskId)
      return as === undefined ? [] : [{ ...task, grows: as === 'grows' }]
    })
  })
}

async function leaseMore(run: RunPlanned, options: LeaseOptions): Promise<readonly LeasedTask[]> {
  const { reserve, growing = [] } = options
  const rows = await run<LeaseRow>({
    name: 'tasks.lease',
    text: LEASE_TASKS,
    values: [
      CHECKS,
      CHECKS.map((check) => options.slots[check]),
      CHECKS.map((check) => (typeof reserve === 'number' ? reserve : reserve[check])),
      options.leaseMs,
      PURCHASED_CHECKS,
      options.holder ?? null,
      CHECKS.map((check) => options.served?.get(check) ?? ''),
      growing.length === 0,
      options.waitingFirst ?? false,
      options.keepLost ?? false,
    ],
  })
  const lost = rows.flatMap(({ isLost, taskId, lease, batchId, check }) =>
    isLost ? [{ taskId, lease, batchId, check }] : [],
  )
  if (lost.length > 0) options.onLost?.(lost)
  return rows.flatMap(({ isLost, ...task }) => (isLost ? [] : [task]))
}

/** A task that was leased, or one whose claim was lost, of which the other columns are null. */
interface LeaseRow extends LeasedTask {
  readonly isLost: boolean
}

/** Milliseconds for which a group without due tasks is skipped, at most. */
const LONGEST_QUIET_MS = 300_000

/**
 * Maximum number of groups of a check from which a round dispatches: each yields one task, with more
 * subjects of its chunk. None while tasks of the previous round grow.
 */
const GROUPS_A_ROUND = 2

/**
 * Maximum number of subjects of a small task, that of a short batch: a part of the reserve is kept
 * for these, so that they do not wait for the tasks of many long batches. As in the index
 * `tasks_small_of_batch` and the function `small_tasks`.
 */
const SMALL = 100

/**
 * Maximum number of batches of an account that one round reads; no more of its tasks could be
 * leased.
 */
const BATCHES_A_ROUND = 16

/**
 * The parts of the statement that leases tasks; each is read by those after it. Parameters: $1
 * checks, $2 their slots and $3 reserves, $4 length of a lease in milliseconds, $5 checks that are
 * paid for, $6 the process that dispatches, $7 the account of each check that was served last, $8
 * whether to look at groups, $9 whether waiting tasks come first, $10 whether claimed tasks stay
 * leased though their lease ran out. The cost grows with what is leased, not with what waits: ready
 * accounts, batches and groups are stepped through by index.
 */
const PARTS = {
  /** Declares the type of every parameter, whichever parts are used. */
  parameters: `
    select $1::text[] as checks, $2::int[] as slots, $3::int[] as reserve, $4::int as lease_ms,
      $5::text[] as purchased, $6::text as holder, $7::text[] as served,
      $8::boolean as groups_too, $9::boolean as waiting_first, $10::boolean as keep_lost`,
  /**
   * Only the process that holds the duty leases, and its row stays locked until the end of the
   * transaction, so that the bound on leased tasks is exact.
   */
  turn: `
  select $6::text is null or (select true from duties
    where name = 'dispatch' and holder = $6 and held_until > clock_timestamp()
    for no key update) is not null as ours`,
  /**
   * Claimed tasks whose lease ran out are returned. The more workers died with them, the longer they
   * are delayed, up to 64 leases, times a random factor of 0.5 to 1.5: tasks that failed together are
   * separated, and a machine that keeps restarting is not taken for a subject that crashes its check.
   * Locked ones are left for a later round, as are those whose lease ran out during this statement:
   * the database may stand still meanwhile, and nobody can renew.
   */
  lost: `
  update tasks t set lease_until = null, due_at = case when t.attempts < 2 then null else
      clock_timestamp()
        + $4::int * interval '1 ms' * 2 ^ least(t.attempts - 2, 6) * (0.5 + random()) end
  where t.id = any(array(select id from tasks cross join turn
    where turn.ours and not $10 and lease_until < now() and claimed
    for no key update of tasks skip locked))
  returning t.id, t.lease, t.batch_id, t.check_kind`,
  /** Tasks whose delay is over are ready. */
  woken: `
  update tasks t set due_at = null
  where t.id = any(array(select id from tasks cross join turn
    where turn.ours and lease_until is null and group_key is null and due_at <= now()
    order by due_at limit 200 for no key update of tasks skip locked))
  returning t.id`,
  /**
   * Number of leased tasks by check and batch. Those that this statement takes back still count:
   * first the jobs of their claims are removed from the queue, so that it never holds more jobs
   * than there are slots.
   */
  busy: `
  select check_kind, account_id, batch_id, count(*)::int as n
  from tasks, turn
  where turn.ours and lease_until is not null
  group by check_kind, account_id, batch_id`,
  /**
   * Free slots of each check, without and with the reserve, and the part of it that is kept for small
   * tasks; checks without any are left out.
   */
  kinds: `
  select k.check_kind, k.served, k.slots - coalesce(sum(b.n), 0)::int as free,
    k.slots + k.reserve - coalesce(sum(b.n), 0)::int as room,
    greatest(k.slots - coalesce(sum(b.n), 0)::int, 1) + count(distinct b.account_id)::int as most,
    k.reserve / 2 as kept
  from unnest($1::text[], $2::int[], $3::int[], $7::text[]) as k(check_kind, slots, reserve, served)
    cross join turn left join busy b on b.check_kind = k.check_kind
  where turn.ours
  group by k.check_kind, k.served, k.slots, k.reserve
  having k.slots + case when k.slots = 0 then 0 else k.reserve end > coalesce(sum(b.n), 0)`,
  /**
   * Accounts for which no new work is begun; outcomes that may have been bought for a canceled
   * batch are still stored.
   */
  resting: `
  select id from accounts where status <> 'active'`,
  /**
   * Accounts with ready tasks, in turn: more than there are accounts with leased tasks, so that
   * some without are included.
   */
  accounts: `
  select k.check_kind, k.free, a.account as account_id, count(*) over (partition by k.check_kind) as n
  from kinds k cross join lateral accounts_in_turn(k.check_kind, k.served,
      k.check_kind = any($5), k.most,
      array(select b.account_id from busy b where b.check_kind = k.check_kind), k.room) a`,
  /**
   * Ready tasks, as many of each account as could be leased. Of a canceled batch only those for which
   * something may have been bought, to store the result; of a paused one none.
   */
  fresh: `
  select t.id, a.check_kind, a.account_id, null as group_key, t.size <= ${SMALL} as is_small
  from accounts a cross join lateral (
    select t.id, t.size
    from batches_in_turn(a.check_kind, a.account_id, a.check_kind = any($5),
        least(${BATCHES_A_ROUND}, ceil(greatest(a.free, 1)::float8 / a.n)::int + 1)) b
      cross join lateral (
        select id, size, row_number() over (order by chunk_no, id) as place from (
          select id, size, chunk_no from tasks
          where check_kind = a.check_kind and account_id = a.account_id and batch_id = b.batch
            and ${isTask('pending', 'tasks')} and due_at is null
            and (b.is_running or lease > 0 or indexes is not null)
            and not (b.is_running and a.account_id in (select id from resting))
          order by chunk_no limit ceil(greatest(a.free, 1)::float8 / a.n)::int + 1) first) t
    order by t.place + coalesce((select n from busy
      where busy.check_kind = a.check_kind and busy.batch_id = b.batch), 0), b.since, t.id
    limit ceil(greatest(a.free, 1)::float8 / a.n)::int + 1) t`,
  /** Small tasks for the reserve, once no slot is free: of accounts without leased tasks. */
  small: `
  select s.task as id, k.check_kind, s.account as account_id, null as group_key, true as is_small
  from kinds k cross join lateral small_tasks(k.check_kind, k.room,
    array(select b.account_id from busy b where b.check_kind = k.check_kind)) s
  where k.free <= 0 and s.task <> all(array(select id from fresh))`,
  /** Due groups, those due longest first, each with the task to dispatch; without one if none may be. */
  awake: `
  select k.check_kind, g.* from kinds k cross join lateral groups_in_turn(k.check_kind,
    ${GROUPS_A_ROUND}, k.free <= 0,
    array(select b.account_id from busy b where b.check_kind = k.check_kind)) g
  where $8`,
  /** The tasks of these groups; they count as small. */
  waiting: `
  select task as id, check_kind, account as account_id, group_key, true as is_small
  from awake where task is not null`,
  /**
   * Other groups are skipped until a task in them is due, or the leased task may be lost. Only
   * groups that have not changed since they were read: a task may have added subjects.
   */
  quieted: `
  update task_groups g set quiet_until = now() + least(${LONGEST_QUIET_MS}, q.after_ms) * interval '1 ms'
  from (
    select h.check_kind, h.group_key, case when a.is_out then $4::int else greatest(1000, coalesce((
        select extract(epoch from min(t.due_at) - now()) * 1000 from tasks t
        where t.check_kind = a.check_kind and t.group_key = a.group_key
          and ${isTask('waiting', 't')} and t.due_at > now()), ${LONGEST_QUIET_MS})) end as after_ms
    from awake a join task_groups h
      on h.check_kind = a.check_kind and h.group_key = a.group_key and h.xmin = a.version
    where a.task is null
    for no key update of h skip locked) q
  where g.check_kind = q.check_kind and g.group_key = q.group_key
  returning g.group_key`,
  /**
   * Position of each candidate among the tasks of its account, after the leased ones; the ready or
   * the waiting ones first.
   */
  placed: `
  select p.*, k.free, k.room, k.kept, p.account_id <= k.served as is_later, row_number() over (
      partition by p.check_kind, p.account_id order by p.seq
    ) + coalesce(b.n, 0) as place
  from (select id, check_kind, account_id, group_key, is_small,
        row_number() over (order by (group_key is null) = $9, seq) as seq
      from (
        select *, row_number() over () as seq from fresh
        union all select *, 0 from small
        union all select *, row_number() over () from waiting) each) p
    join kinds k on k.check_kind = p.check_kind
    left join (select check_kind, account_id, sum(n)::int as n from busy group by 1, 2) b
      on b.check_kind = p.check_kind and b.account_id = p.account_id`,
  /** The candidates in turn: accounts with the fewest leased tasks first. */
  turns: `
  select *, row_number() over (
    partition by check_kind order by place, is_later, account_id, seq) as turn_no
  from placed`,
  /**
   * Candidates to lease, within the free slots; within the reserve only the first of an account that
   * has none leased, the small ones first, for which a part of it is kept.
   */
  chosen: `
  select id, group_key, turn_no from turns where turn_no <= free
  union all
  select id, group_key, turn_no from (
    select *, room - greatest(free, 0) as extra, row_number() over (
      partition by check_kind order by is_small desc, turn_no) as extra_no
    from turns where turn_no > free and place = 1) r
  where extra_no <= extra - case when is_small then 0 else kept end`,
  /** Chosen tasks that no other transaction has locked. */
  locked: `
  select id from tasks
  where id = any(array(select id from chosen)) and lease_until is null
  for no key update skip locked`,
  /** Leases the tasks, each with the next fencing number, until a worker claims it. */
  leased: `
  update tasks t
  set lease = lease + 1, claimed = false, group_key = null, due_at = null,
      lease_until = clock_timestamp() + $4::int * interval '1 ms'
  where t.id = any(array(select id from locked))
  returning t.id, t.lease, t.batch_id, t.check_kind, t.account_id, t.attempts,
    (select c.group_key from chosen c where c.id = t.id),
    (select c.turn_no from chosen c where c.id = t.id)`,
} as const

/** Name of a part of the statement. */
export type LeasePart = keyof typeof PARTS

/** The statement up to and including a part; returns that part's rows. */
export function leaseStatement(last: LeasePart): string {
  return statementUpTo(PARTS, last)
}

const LEASE_TASKS = `${partsUpTo(PARTS, 'leased')}
  select id as "taskId", lease, batch_id as "batchId", check_kind as check,
    account_id as "accountId", group_key as group, attempts, false as grows, is_lost as "isLost"
  from (
    select id, lease, batch_id, check_kind, account_id, group_key, attempts, turn_no, false as is_lost
    from leased
    union all
    select id, lease, batch_id, check_kind, null, null, null, null, true from lost) each
  order by turn_no`
