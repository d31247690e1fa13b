import type { RunPlanned } from '../query-plans.ts'
import { partsUpTo, statementUpTo } from './sql-parts.ts'
import { isTask } from './task-states.ts'

/**
 * Prefix of groups that wait because our own resolver or network does not work: a few of their
 * subjects are tried before the others are released.
 */
export const SILENCE = 'silence:'

/** Subjects that are tried for the whole group. */
const FEW = 10

/**
 * Maximum number of tasks merged with others of their chunk in one round, so that no round takes
 * long.
 */
const MERGED_A_ROUND = 64

/** A task with this many subjects is large enough: loading its chunk pays. */
const LARGE = 256

/** A task that was leased out of the group it waited in. */
export interface WaitedTask {
  readonly taskId: number
  readonly lease: number
  readonly group: string | null
}

/**
 * Completes tasks that were leased out of their groups and are not enqueued yet: other subjects of
 * the same chunk that are due join them, so that a chunk whose subjects wait one by one is not
 * loaded for each. Of a group that waits for a silent service only a few subjects go. Groups in
 * which nothing waits any more are deleted.
 *
 * @returns for each task whether it is complete or may grow in the next round; tasks merged into
 * another of their chunk, and those whose lease was lost, are left out
 */
export async function mergeWaiting(
  run: RunPlanned,
  tasks: readonly WaitedTask[],
  leaseMs: number,
): Promise<ReadonlyMap<number, 'whole' | 'grows'>> {
  if (tasks.length === 0) return new Map()
  const silent = tasks.filter(({ group }) => group?.startsWith(SILENCE))
  if (silent.length > 0) {
    await run({
      name: 'tasks.cut',
      text: CUT,
      values: [silent.map(({ taskId }) => taskId), silent.map(({ group }) => group), FEW],
    })
  }
  const rows = await run<{ id: number; grows: boolean }>({
    name: 'tasks.merge',
    text: MERGE,
    values: [
      tasks.map(({ taskId }) => taskId),
      tasks.map(({ group }) => group),
      MERGED_A_ROUND,
      leaseMs,
      tasks.map(({ lease }) => lease),
      LARGE,
    ],
  })
  return new Map(rows.map(({ id, grows }) => [id, grows ? 'grows' : 'whole']))
}

/**
 * The parts of the statement that puts all but the first $3 subjects of tasks $1 back into their
 * groups $2, each read by those after it.
 */
const CUT_PARTS = {
  /** Declares the type of every parameter, whichever parts are used. */
  parameters: `
  select $1::bigint[] as ids, $2::text[] as groups, $3::int as most`,
  /** Tasks with too many subjects, before the cut. */
  cut: `
  select t.*, l.group_key as waited_by from unnest($1::bigint[], $2::text[]) l(id, group_key)
    join tasks t on t.id = l.id
  where t.size > $3 and t.indexes is not null and t.lease_until is not null and not t.claimed`,
  /** The surplus subjects, as new due tasks of the same groups. */
  others: `
  insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, states,
    attempts, reason, group_key, due_at)
  select batch_id, account_id, mode, check_kind, depth, chunk_no, indexes[$3::int + 1:], size - $3,
    (select jsonb_agg(state order by at) from jsonb_array_elements(states)
      with ordinality as s(state, at) where at > $3),
    attempts, reason, waited_by, now()
  from cut
  returning id, group_key, indexes, size, states`,
  /** The leased tasks with the remaining subjects. */
  kept: `
  update tasks t set indexes = t.indexes[:$3::int], size = $3,
    states = (select jsonb_agg(state order by at) from jsonb_array_elements(t.states)
      with ordinality as s(state, at) where at <= $3)
  from cut where t.id = cut.id
  returning t.id, t.indexes, t.size, t.states`,
} as const

/** Name of a part of the statement that cuts tasks. */
type CutPart = keyof typeof CUT_PARTS

/** The statement that cuts tasks, up to and including a part; returns that part's rows. */
export function cutStatement(last: CutPart): string {
  return statementUpTo(CUT_PARTS, last)
}

const CUT = `${partsUpTo(CUT_PARTS, 'kept')} select from kept`

/**
 * The parts of the statement that adds further due subjects of their chunks to tasks $1 of groups
 * $2 and leases $5, at most $3 subjects in all, and marks the groups as having a leased task for $4
 * milliseconds. A task with $6 subjects or more does not grow. Each part is read by those after it.
 */
const MERGE_PARTS = {
  /** Declares the type of every parameter, whichever parts are used. */
  parameters: `
  select $1::bigint[] as ids, $2::text[] as groups, $3::int as merged, $4::int as lease_ms,
    $5::int[] as leases, $6::int as large`,
  /** The tasks whose leases are still those given, with the groups they waited in. */
  listed: `
  select t.id, t.batch_id, t.account_id, t.chunk_no, t.check_kind, l.group_key, t.indexes, t.states, t.size,
    t.attempts
  from unnest($1::bigint[], $2::text[], $5::int[]) l(id, group_key, lease)
    join tasks t on t.id = l.id and t.lease = l.lease
  where t.lease_until is not null and not t.claimed`,
  /** The first task of each chunk: it takes in the others. */
  leaders: `
  select distinct on (batch_id, chunk_no, check_kind) * from listed
  order by batch_id, chunk_no, check_kind, id`,
  /**
   * The other tasks of a chunk; a task that is tried for a silent service stays alone, and so does
   * a whole chunk.
   */
  followers: `
  select f.*, l.id as leader
  from listed f join leaders l on l.batch_id = f.batch_id and l.chunk_no = f.chunk_no
    and l.check_kind = f.check_kind and l.id <> f.id
  where f.indexes is not null and l.indexes is not null
    and not f.group_key like '${SILENCE}%' and not l.group_key like '${SILENCE}%'`,
  /** How many waiting tasks each leader may take. */
  share: `
  select $3::int / greatest(count(*), 1) as most from leaders`,
  /**
   * Tasks merged into a leader: its followers, and due tasks of its chunk whose groups have free
   * slots.
   */
  also: `
  select id, indexes, states, size, attempts, check_kind, group_key, leader, false as was_waiting
  from followers
  union all
  select c.*, l.id as leader, true
  from leaders l cross join lateral (
    select c.id, c.indexes, c.states, c.size, c.attempts, c.check_kind, c.group_key
    from tasks c join task_groups g on g.check_kind = c.check_kind and g.group_key = c.group_key
    where c.batch_id = l.batch_id and c.chunk_no = l.chunk_no and c.check_kind = l.check_kind
      and ${isTask('waiting', 'c')} and c.due_at <= now() and c.indexes is not null
      and greatest(g.next_at, g.quiet_until) <= now() and not g.opened
      and not c.group_key like '${SILENCE}%'
      and not exists (select from tasks o where o.id = g.out_task and o.lease_until is not null)
    limit (select most from share) for no key update of c skip locked) c
  where not l.group_key like '${SILENCE}%'`,
  /** Deletes the tasks that were merged into another. */
  gone: `
  delete from tasks t using also where t.id = also.id
  returning t.id`,
  /** The leaders, with the added subjects and their states. */
  grown: `
  update tasks t set size = t.size + a.size, indexes = t.indexes || a.indexes,
    attempts = greatest(t.attempts, a.attempts), states = coalesce(t.states,
      (select jsonb_agg(null::jsonb) from generate_series(1, t.size))) || a.states
  from (
    select leader, count(*)::int as size, max(attempts) as attempts,
      array_agg(e.subject order by also.id, e.at) as indexes,
      jsonb_agg(coalesce(also.states -> (e.at - 1)::int, 'null') order by also.id, e.at) as states
    from also cross join lateral unnest(also.indexes) with ordinality as e(subject, at)
    group by leader) a
  where t.id = a.leader
  returning t.id, t.indexes, t.size, t.states, t.attempts`,
  /**
   * The groups that tasks were taken from, as they were then, and the task that holds their
   * subjects. Whether more tasks wait in a group than were taken from it is one read of its index.
   */
  groups: `
  select check_kind, group_key, leader, (select count(*) from (
      select from tasks t where t.check_kind = g.check_kind and t.group_key = g.group_key
        and ${isTask('waiting', 't')} limit g.taken + 1) few) > g.taken as more,
    (select h.xmin from task_groups h
      where h.check_kind = g.check_kind and h.group_key = g.group_key) as version
  from (select check_kind, group_key, min(leader) as leader, sum(taken)::int as taken from (
      select check_kind, group_key, leader, was_waiting::int as taken from also
      union all
      select check_kind, group_key, id, 0 from listed where id not in (select id from followers)) each
    group by check_kind, group_key) g`,
  /**
   * Those groups that no other transaction has locked. One that has changed since it was read may
   * have more tasks: they were put into it meanwhile.
   */
  ours: `
  select h.check_kind, h.group_key, g.more or h.xmin <> g.version as more, g.leader
  from groups g join task_groups h on h.check_kind = g.check_kind and h.group_key = g.group_key
  for update of h skip locked`,
  /** Deletes groups in which no task waits any more. */
  forgotten: `
  delete from task_groups h using ours
  where h.check_kind = ours.check_kind and h.group_key = ours.group_key and not ours.more
  returning h.group_key`,
  /** The other groups have a leased task, and are skipped for as long as its lease. */
  out: `
  update task_groups h set out_task = ours.leader, quiet_until = now() + $4::int * interval '1 ms',
    last_account_id = (select account_id from listed where id = ours.leader)
  from ours where h.check_kind = ours.check_kind and h.group_key = ours.group_key and ours.more
  returning h.group_key, h.out_task, h.last_account_id`,
  /** The remaining tasks, and whether each may grow: it took its full share, and is not large. */
  merged: `
  select l.id,
    (select count(*) from also where leader = l.id and was_waiting) >= (select most from share)
      and l.size + (select coalesce(sum(size), 0) from also where leader = l.id) < $6::int as grows
  from listed l where l.id not in (select id from followers)`,
} as const

/** Name of a part of the statement that merges tasks. */
export type MergePart = keyof typeof MERGE_PARTS

/** The statement that merges tasks, up to and including a part; returns that part's rows. */
export function mergeStatement(last: MergePart): string {
  return statementUpTo(MERGE_PARTS, last)
}

const MERGE = `${partsUpTo(MERGE_PARTS, 'out')} ${MERGE_PARTS.merged}`
