import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Db } from '../database.ts'
import { isTask } from './task-states.ts'

/** Tasks of one check that are not done. */
export interface Backlog {
  readonly check: Check
  /** Tasks that a worker could begin now: queued jobs, and tasks that could be enqueued. */
  readonly claimable: number
  /** Tasks that wait for a time or for a provider's limit: more workers would not help. */
  readonly waiting: number
  /** Seconds since the oldest batch with a claimable task was started; 0 if there is none. */
  readonly ageSeconds: number
}

/** Upper bound of the count, so that reading the backlog stays cheap however large it is. */
const MOST_COUNTED = 100_000

/** Upper bound of the count per batch and check; more than any number of workers can take. */
const MOST_OF_BATCH = 1_000

/** Upper bound of the waiting groups that are due, per check. */
const MOST_GROUPS = 10_000

/** Upper bound of the due tasks of a group that are read to find one of a running batch. */
const MOST_OF_GROUP = 20

/**
 * Reads how many tasks of each check workers could begin now, and how long the oldest of their
 * batches has been running. Tasks of paused and canceled batches and of suspended accounts do not
 * count. A group that is due counts as one task. Exact up to 1,000 per batch, 10,000 due groups per
 * check, and 100,000 in all.
 */
export async function readBacklog(db: Db): Promise<readonly Backlog[]> {
  const { rows } = await db.pool.query<Backlog>({
    name: 'backlog.read',
    text: `
      with going as materialized (
        select b.id, b.account_id, coalesce((b.ats->>'running')::timestamptz, b.created_at) as since
        from batches b join accounts a on a.id = b.account_id
        where b.status = 'running' and a.status = 'active'
      ), ready as (
        select k.kind, sum(t.n) as n, min(g.since) as since
        from unnest($1::text[]) as k(kind) cross join going g cross join lateral (
          select count(*) as n from (
            select from tasks where check_kind = k.kind and account_id = g.account_id
              and batch_id = g.id and ${isTask('pending', 'tasks')} and due_at is null
            limit ${MOST_OF_BATCH}) one) t
        where t.n > 0
        group by k.kind
      ), queued as (
        select t.check_kind as kind, count(*) as n, min(g.since) as since
        from tasks t join going g on g.id = t.batch_id
        where ${isTask('leased', 't')} and not t.claimed
        group by t.check_kind
      ), due_groups as (
        select k.kind, count(g) as n, null::timestamptz as since
        from unnest($1::text[]) as k(kind) cross join lateral (
          select group_key as g from task_groups
          where check_kind = k.kind and greatest(next_at, quiet_until) <= now() and not opened
            and out_task is null
          limit ${MOST_GROUPS}) due
        where exists (select from (
            select batch_id from tasks t where t.check_kind = k.kind and t.group_key = due.g
              and ${isTask('waiting', 't')} and t.due_at <= now() limit ${MOST_OF_GROUP}) first
          join going on going.id = first.batch_id)
        group by k.kind
      ), found as (
        select kind, sum(n) as n, min(since) as since
        from (select * from ready union all select * from queued union all select * from due_groups) each
        group by kind
      )
      select k.kind as check, coalesce(b.n, 0)::float8 as claimable, (
          select count(*) from (
            select from tasks where check_kind = k.kind and ${isTask('waiting', 'tasks')}
            limit ${MOST_COUNTED}) one
        )::float8 as waiting,
        greatest(0, coalesce(extract(epoch from clock_timestamp() - b.since), 0))::float8
          as "ageSeconds"
      from unnest($1::text[]) with ordinality as k(kind, place) left join found b on b.kind = k.kind
      order by k.place`,
    values: [CHECKS],
  })
  return rows
}

/**
 * Counts chunks of running batches with tasks that are leased or could be. Chunks whose open tasks
 * all wait for a time do not count. Exact up to 100,000.
 */
export async function countOpenChunks(db: Db): Promise<number> {
  const { rows } = await db.pool.query<{ open: number }>({
    name: 'chunks.count-open',
    text: `
      select count(*)::float8 as open from (
        select from batches b join accounts a on a.id = b.account_id
          join chunks c on c.batch_id = b.id and c.settled_at is null
        where b.status = 'running' and a.status = 'active' and (c.no >= b.tasks_from or exists (
          select from tasks t where t.batch_id = c.batch_id and t.chunk_no = c.no
            and t.group_key is null and t.due_at is null))
        limit ${MOST_COUNTED}) one`,
  })
  return rows[0]?.open ?? 0
}
