import { sql, type RawBuilder } from 'kysely'
import type { Check } from '@plumbline/contract/products'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { OpenSubjects, PaceSample } from '../tables/batches.ts'

/** Data from which the remaining time of a running batch is estimated. */
export interface BatchPace {
  /** Milliseconds since the Unix epoch, by the database's clock, as all times in this file. */
  readonly startedMs: number
  readonly samples: readonly PaceSample[]
  readonly now: PaceSample
}

/**
 * Maximum number of groups that are counted separately; smaller ones are counted together with
 * subjects that are in no group.
 */
const MOST_GROUPS = 8

/**
 * Upper bound of a batch's tasks for which its pace is computed: a batch of five million rows has a
 * quarter as many chunks.
 */
const MOST_COUNTED = 20_000

/**
 * Subjects without an outcome, by check and by the group that they wait in: each is in exactly one
 * task, once the tasks are created. Null if there are more tasks than are counted, as when very
 * many subjects wait one by one: this is read many times a second.
 *
 * @param batchId a column of the statement around it
 */
export function openSubjects(
  batchId: 'batches.id' | 'chunks.batch_id',
): RawBuilder<OpenSubjects | null> {
  return sql`(
    with counted as materialized (
      select count(*) <= ${MOST_COUNTED} as are_few from (
        select from tasks where tasks.batch_id = ${sql.ref(batchId)} limit ${MOST_COUNTED + 1}) each
    ), left_over as materialized (
      select check_kind, group_key, sum(size) as open from tasks
      where tasks.batch_id = ${sql.ref(batchId)} and (select are_few from counted)
      group by check_kind, group_key)
    select case when (select are_few from counted) then jsonb_build_object(
      'open', (select coalesce(jsonb_object_agg(check_kind, open), '{}') from (
        select check_kind, sum(open) as open from left_over group by check_kind) each),
      'groups', (select coalesce(jsonb_agg(jsonb_build_object('check', check_kind, 'key', group_key,
          'open', open, 'answered', coalesce((
            select answered from group_answers a where a.batch_id = ${sql.ref(batchId)}
              and a.check_kind = most.check_kind and a.group_key = most.group_key), 0))), '[]')
        from (select * from left_over where group_key is not null
          order by open desc limit ${MOST_GROUPS}) most)) end)`
}

/** Subjects that were answered under a group's limit. */
export interface GroupAnswers {
  readonly key: string
  readonly answered: number
  /** Whether the group has just reached its limit; undefined: it is looked up. */
  readonly isFull: boolean
}

/**
 * Counts subjects of a batch that were answered under a group's limit, if the group has reached it
 * at some time.
 */
export async function countGroupAnswers(
  db: Db,
  of: { readonly batchId: string; readonly check: Check },
  groups: readonly GroupAnswers[],
): Promise<void> {
  await db.pool.query({
    name: 'group-answers.count',
    text: `
      insert into group_answers as g (batch_id, check_kind, group_key, answered)
      select b.id, $2, n.key, n.answered
      from batches b, unnest($3::text[], $4::bigint[], $5::boolean[]) as n(key, answered, is_full)
      where b.id = $1 and (n.is_full
        or exists (select from task_groups t where t.check_kind = $2 and t.group_key = n.key))
      -- In one order, so that two saves cannot wait for each other.
      order by n.key
      on conflict (batch_id, check_kind, group_key) do update set answered = g.answered + excluded.answered`,
    values: [
      of.batchId,
      of.check,
      groups.map(({ key }) => key),
      groups.map(({ answered }) => answered),
      groups.map(({ isFull }) => isFull),
    ],
  })
}

/** Deletes the counts of a batch's groups. */
export async function deleteGroupAnswers(db: Db | Tx, batchId: string): Promise<void> {
  await queriesOf(db).deleteFrom('group_answers').where('batch_id', '=', batchId).execute()
}

/**
 * Reads the data for the time estimate of a batch; undefined if the batch is not running, not all
 * of its tasks are created, its last sample is younger than `leastMs`, or it has more tasks than
 * are counted.
 */
export async function readPace(
  db: Db,
  batchId: string,
  leastMs: number,
): Promise<BatchPace | undefined> {
  const at = sql<number>`extract(epoch from clock_timestamp())::float8 * 1000`
  const row = await queriesOf(db)
    .selectFrom('batches')
    .select([
      'pace',
      sql<number>`extract(epoch from (ats->>'running')::timestamptz)::float8 * 1000`.as(
        'startedMs',
      ),
      at.as('at'),
      openSubjects('batches.id').as('seen'),
    ])
    .where('id', '=', batchId)
    .where('status', '=', 'running')
    .where('tasks_from', 'is', null)
    .where(sql<boolean>`coalesce((pace->-1->>'at')::float8, 0) <= ${at} - ${leastMs}::float8`)
    .executeTakeFirst()
  if (row === undefined || row.seen === null) return undefined
  const now = { at: Math.round(row.at), ...row.seen }
  return { startedMs: row.startedMs, samples: row.pace ?? [], now }
}

/**
 * Stores samples of a batch's pace, unless another process stored some since the last one. Takes no
 * lock that it would have to wait for.
 */
export async function storePace(
  db: Db,
  batchId: string,
  samples: readonly PaceSample[],
): Promise<void> {
  const last = samples.at(-1)?.at ?? 0
  await sql`
    update batches set pace = ${JSON.stringify(samples)}::jsonb
    where id = (select id from batches where id = ${batchId} and status = 'running'
        and coalesce((pace->-1->>'at')::float8, 0) < ${last}::float8
      for no key update skip locked)
  `.execute(queriesOf(db))
}
