import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'

/** After so long a quiet group is read again, whatever is known of it. */
const LONGEST_QUIET_MS = 300_000

/** Groups that one statement quiets at most. */
const MOST_GROUPS = 5_000

/**
 * Notes until when nothing of a group is due, so that tasks are leased without reading it: there may
 * be a group for each domain of a batch. One of which a task is leased stays awake, as that may come back.
 */
export async function quietGroups(db: Db | Tx): Promise<void> {
  // Only rows that are as they were seen: a task may have put more into a group since.
  await sql`
    with quiet as (
      select h.check_kind, h.group_key, s.until
      from (
        select g.check_kind, g.group_key, g.xmin as version, (
            select min(t.due_at) from tasks t
            where t.check_kind = g.check_kind and t.group_key = g.group_key and t.lease_until is null
          ) as until
        from task_groups g
        where g.quiet_until <= now() and g.next_at <= now()
          and not exists (select 1 from tasks t
            where t.check_kind = g.check_kind and t.group_key = g.group_key
              and t.lease_until is null and t.due_at <= now())
          and not exists (select 1 from tasks l
            where l.check_kind = g.check_kind and l.group_key = g.group_key
              and l.lease_until is not null)
        limit ${MOST_GROUPS}
      ) s join task_groups h
        on h.check_kind = s.check_kind and h.group_key = s.group_key and h.xmin = s.version
      for no key update of h skip locked
    )
    update task_groups g
    set quiet_until = least(q.until, now() + ${LONGEST_QUIET_MS} * interval '1 ms')
    from quiet q where q.check_kind = g.check_kind and q.group_key = g.group_key
  `.execute(queriesOf(db))
}

/** Longer than any transaction: one that puts a task into a group must find it or make it anew. */
const MEMORY_MS = 600_000

/** Forgets groups that have had room for a while and that nothing waits for. */
export async function sweepGroups(db: Db | Tx): Promise<void> {
  await sql`
    delete from task_groups g
    where g.next_at < clock_timestamp() - ${MEMORY_MS} * interval '1 ms'
      and not exists (select 1 from tasks t
        where t.check_kind = g.check_kind and t.group_key = g.group_key)
  `.execute(queriesOf(db))
}
