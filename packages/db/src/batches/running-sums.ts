import type { BatchState } from '@plumbline/contract/batch'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { sumsOf, sumsOfRows, type BatchRow, type BatchSums } from './rows.ts'
import { sqlStates } from './states.ts'

/** Rows from which on a batch that is worked on keeps its sums: fewer have a hundred chunks at most. */
const LARGE_ROWS = 100_000

/** States in which the sums of a batch that was read change. */
const SUMMED_STATES: readonly BatchState[] = ['running', 'paused', 'finalizing', 'canceling']

/** How old kept sums become until they are made anew, and from when on nobody goes by them. */
const FRESH_MS = 5_000
const STALE_MS = 60_000

/** Batches of one call. */
const MOST_BATCHES = 20

/**
 * Adds up the chunks of large batches that are worked on, those first whose sums are the oldest, and keeps that with
 * their rows, so that nobody who lists batches waits for it. Waits for nobody; several processes may do it at once.
 * @returns how many were added up
 */
export async function keepRunningSums(db: Db, freshMs = FRESH_MS): Promise<number> {
  const at = sql<number>`coalesce((running_sums->>'at')::float8, 0)`
  const now = sql<number>`round(extract(epoch from clock_timestamp())::float8 * 1000)`
  const due = sql<boolean>`rows_total >= ${sql.lit(LARGE_ROWS)}
    and status in ${sql.raw(sqlStates(SUMMED_STATES))} and ${at} <= ${now} - ${freshMs}::float8`
  const { rows } = await sql<{ id: string }>`
    select id from batches where ${due} order by ${at} limit ${MOST_BATCHES}
  `.execute(queriesOf(db))
  for (const { id } of rows) {
    const sums = (await sumsOf(db, [id])).get(id)
    await sql`
      update batches
      set running_sums = ${JSON.stringify(sums ?? {})}::jsonb || jsonb_build_object('at', ${now})
      where id = (select id from batches where id = ${id} and ${due} for no key update skip locked)
    `.execute(queriesOf(db))
  }
  return rows.length
}

/** The sums of listed batches by id: of large ones that are worked on as they were some seconds ago. */
export async function sumsOfPage(
  db: Db | Tx,
  rows: readonly BatchRow[],
): Promise<ReadonlyMap<string, BatchSums>> {
  const kept = new Map<string, BatchSums>()
  for (const { id, status, running_sums: sums } of rows) {
    if (sums === null || !SUMMED_STATES.includes(status)) continue
    // Where nobody keeps them any more they say nothing.
    if (Date.now() - sums.at < STALE_MS) kept.set(id, sums)
  }
  const others = await sumsOfRows(
    db,
    rows.filter(({ id }) => !kept.has(id)),
  )
  return new Map([...others, ...kept])
}
