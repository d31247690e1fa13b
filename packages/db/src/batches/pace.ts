import { sql, type RawBuilder } from 'kysely'
import type { Check } from '@plumbline/contract/products'
import { queriesOf, type Db } from '../database.ts'
import type { PaceSample } from '../tables/batches.ts'

/** What is known of the pace of a running batch. */
export interface BatchPace {
  /** Milliseconds of the epoch, by the database's clock, as all times here. */
  readonly startedMs: number
  readonly samples: readonly PaceSample[]
  readonly now: PaceSample
}

/**
 * Subjects without an outcome, by check: each is in one task, once those are made.
 * @param batchId a column of the statement around it
 */
export function openByCheck(
  batchId: 'batches.id' | 'chunks.batch_id',
): RawBuilder<Partial<Record<Check, number>> | null> {
  return sql`(
    select jsonb_object_agg(check_kind, open) from (
      select check_kind, sum(size) as open from tasks
      where tasks.batch_id = ${sql.ref(batchId)} group by check_kind) left_over)`
}

/**
 * The pace of a batch of which all tasks are made; undefined where it does not run, or its last sample is younger
 * than `leastMs`.
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
      openByCheck('batches.id').as('open'),
    ])
    .where('id', '=', batchId)
    .where('status', '=', 'running')
    .where('tasks_from', 'is', null)
    .where(sql<boolean>`coalesce((pace->-1->>'at')::float8, 0) <= ${at} - ${leastMs}::float8`)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const now = { at: Math.round(row.at), open: row.open ?? {} }
  return { startedMs: row.startedMs, samples: row.pace ?? [], now }
}

/** Keeps samples of a batch's pace, unless others were kept since the last of them; waits for nobody. */
export async function keepPace(
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
