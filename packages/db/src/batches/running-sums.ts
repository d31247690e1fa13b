import type { BatchState } from '@plumbline/contract/batch'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { sumsOfBatch, sumsOfRows, type BatchSums } from './rows.ts'
import type { ShownBatch } from './shown-columns.ts'
import { sqlStates } from './states.ts'

/**
 * Rows from which on the sums of a running batch are stored: smaller batches have a hundred chunks
 * at most.
 */
export const LARGE_ROWS = 100_000

/** States in which the sums of a batch can still change after intake. */
const SUMMED_STATES: readonly BatchState[] = ['running', 'paused', 'finalizing', 'canceling']

/** Milliseconds after which stored sums are computed again and no longer used. */
const FRESH_MS = 5_000
const STALE_MS = 60_000

/** Maximum number of batches that one call sums. */
const MOST_BATCHES = 20

/**
 * Stores the sums of large running batches, those with the oldest sums first, so that listing
 * batches does not have to add up their chunks. Takes no lock that it would have to wait for;
 * several processes may run it at once.
 *
 * @returns how many batches were summed
 */
export async function storeRunningSums(db: Db, freshMs = FRESH_MS): Promise<number> {
  const at = sql<number>`coalesce((running_sums->>'at')::float8, 0)`
  const now = sql<number>`round(extract(epoch from clock_timestamp())::float8 * 1000)`
  // Those dated in the future were stored before the clock was set back.
  const due = sql<boolean>`rows_total >= ${sql.lit(LARGE_ROWS)}
    and status in ${sql.raw(sqlStates(SUMMED_STATES))}
    and (${at} <= ${now} - ${freshMs}::float8 or ${at} > ${now})`
  const { rows } = await sql<{ id: string }>`
    select id from batches where ${due} order by ${at} limit ${MOST_BATCHES}
  `.execute(queriesOf(db))
  for (const { id } of rows) {
    const sums = await sumsOfBatch(db, id)
    await sql`
      update batches
      set running_sums = ${JSON.stringify(sums ?? {})}::jsonb || jsonb_build_object('at', ${now})
      where id = (select id from batches where id = ${id} and ${due} for no key update skip locked)
    `.execute(queriesOf(db))
  }
  return rows.length
}

/** The sums of listed batches by id; those of large running batches are a few seconds old. */
export async function sumsOfPage(
  db: Db | Tx,
  rows: readonly ShownBatch[],
): Promise<ReadonlyMap<string, BatchSums>> {
  const kept = new Map<string, BatchSums>()
  for (const { id, status, running_sums: sums } of rows) {
    if (sums === null || !SUMMED_STATES.includes(status)) continue
    // If they are no longer updated, they are not used.
    if (Date.now() - sums.at < STALE_MS) kept.set(id, sums)
  }
  const others = await sumsOfRows(
    db,
    rows.filter(({ id }) => !kept.has(id)),
  )
  return new Map([...others, ...kept])
}
