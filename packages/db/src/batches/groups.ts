import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
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

/** Deletes groups that have had capacity for a while and that nothing waits for. */
export async function sweepGroups(db: Db | Tx): Promise<void> {
  await sql`
    delete from task_groups g
    where g.next_at < clock_timestamp() - ${MEMORY_MS} * interval '1 ms'
      and not exists (select 1 from tasks t
        where t.check_kind = g.check_kind and t.group_key = g.group_key)
  `.execute(queriesOf(db))
}
