import { CHECKS } from '@plumbline/contract/products'
import type { Db } from '../database.ts'
import { isTask } from './task-states.ts'

/** Maximum number of tasks that one step takes out of their groups. */
const TASKS_A_STEP = 500

/**
 * Makes all tasks of groups ready that were found to have capacity again, in steps of bounded size;
 * an open group without tasks is deleted.
 */
export async function emptyOpenGroups(db: Db): Promise<void> {
  await db.pool.query({
    name: 'groups.empty',
    text: `
      with open as (select check_kind, group_key from task_groups where opened limit 4),
      out as (
        select t.id, t.check_kind, t.group_key
        from open g join tasks t on t.check_kind = g.check_kind and t.group_key = g.group_key
          and ${isTask('waiting', 't')}
        limit ${TASKS_A_STEP} for no key update of t skip locked
      ), freed as (
        update tasks t set group_key = null, due_at = null from out where t.id = out.id
      )
      delete from task_groups g using open
      where g.check_kind = open.check_kind and g.group_key = open.group_key and g.opened
        and not exists (select from tasks t where t.check_kind = g.check_kind
          and t.group_key = g.group_key and ${isTask('waiting', 't')})`,
  })
}

/**
 * Milliseconds that an empty group is kept, longer than any transaction: one that adds a task to a
 * group must find the group or recreate it.
 */
const MEMORY_MS = 600_000

/** Number of groups that one statement of a sweep reads. */
const GROUPS_A_SWEEP = 2_000

/**
 * Deletes groups that have had capacity for a while and that nothing waits for, in bounded
 * statements; the signal stops it between two of them.
 */
export async function sweepGroups(db: Db, signal: AbortSignal): Promise<void> {
  for (let after: GroupKey | undefined = FIRST; after !== undefined && !signal.aborted;) {
    const { rows }: { rows: readonly GroupKey[] } = await db.pool.query<GroupKey>({
      name: 'groups.sweep',
      text: `
        with page as (
          select check_kind, group_key from task_groups where (check_kind, group_key) > ($1, $2)
          order by check_kind, group_key limit $3
        ), gone as (
          delete from task_groups g using page
          where g.check_kind = page.check_kind and g.group_key = page.group_key
            and g.next_at < clock_timestamp() - $4 * interval '1 ms'
            and not exists (select from tasks t where t.check_kind = g.check_kind
              and t.group_key = g.group_key and ${isTask('waiting', 't')})
        )
        select check_kind, group_key from page order by check_kind, group_key offset $3 - 1`,
      values: [after.check_kind, after.group_key, GROUPS_A_SWEEP, MEMORY_MS],
    })
    after = rows[0]
  }
}

interface GroupKey {
  readonly check_kind: string
  readonly group_key: string
}

const FIRST: GroupKey = { check_kind: '', group_key: '' }

/** Number of due groups of a check from which on some wait: a round reads fewer. */
const MANY_DUE = 3

/** Number of running batches that one step looks at. */
const BATCHES_A_STEP = 500

/** Number of due tasks of a batch among which it looks for one whose group is due. */
const TASKS_A_BATCH = 20

/**
 * Brings groups forward in which an account without leased tasks has a due one. Groups are served in
 * the order in which they fell due, and those of one large batch may be hundreds of thousands.
 *
 * @param after the id of the batch that the previous step ended with; empty at first
 * @returns the id to pass to the next step
 */
export async function advanceGroups(db: Db, after: string): Promise<string> {
  const { rows } = await db.pool.query<{ id: string }>({
    name: 'groups.advance',
    text: `
      with crowded as (
        select k.check_kind from unnest($2::text[]) as k(check_kind)
        where exists (select from task_groups g where g.check_kind = k.check_kind
          and greatest(g.next_at, g.quiet_until) <= now() and not g.opened
          order by greatest(g.next_at, g.quiet_until) offset ${MANY_DUE - 1} limit 1)
      ), step as materialized (
        select b.id, b.account_id from batches b
        where b.status = 'running' and b.id > $1 and exists (select from crowded)
        order by b.id limit ${BATCHES_A_STEP}
      ), first as (
        select distinct c.check_kind, t.group_key
        from step b join accounts a on a.id = b.account_id and a.status = 'active'
          cross join crowded c cross join lateral (
            select t.group_key
            from (select group_key from tasks t
                where t.batch_id = b.id and t.check_kind = c.check_kind and t.due_at <= now()
                  and ${isTask('waiting', 't')}
                order by t.due_at limit ${TASKS_A_BATCH}) t
              join task_groups g on g.check_kind = c.check_kind and g.group_key = t.group_key
            where greatest(g.next_at, g.quiet_until) <= now() limit 1) t
        where not exists (select from tasks l where l.check_kind = c.check_kind
          and l.account_id = b.account_id and ${isTask('leased', 'l')})
      ), advanced as (
        update task_groups g set next_at = '-infinity', quiet_until = '-infinity'
        where (g.check_kind, g.group_key) in (
          select h.check_kind, h.group_key from task_groups h join first f
            on f.check_kind = h.check_kind and f.group_key = h.group_key
          where h.next_at > '-infinity' and not h.opened
          for no key update of h skip locked)
      )
      select id from step order by id offset ${BATCHES_A_STEP - 1}`,
    values: [after, CHECKS],
  })
  return rows[0]?.id ?? ''
}
