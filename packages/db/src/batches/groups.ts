import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { isTask } from './task-states.ts'

/** Tasks that one step takes out of their groups. */
const TASKS_A_STEP = 500

/**
 * Lets the tasks of groups that were tried and found to have room go out all together, in steps of bounded
 * size; a group that is open and has none left is forgotten.
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
