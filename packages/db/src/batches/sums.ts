import type { BatchState } from '@plumbline/contract/batch'
import { CHECKS } from '@plumbline/contract/products'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { BatchSums, OpenSubjects } from '../tables/batches.ts'
import { openSubjects } from './pace.ts'
import type { ShownBatch } from './shown-columns.ts'
import { sqlStates } from './states.ts'

/** SQL: subjects of a chunk, of all checks. */
const SUBJECTS = sql`(email_count + phone_count + ip_count + domain_count)`

/**
 * SQL: rows of a chunk that have all their outcomes. For an open chunk the rows whose last outcome
 * is stored, and the same share of the rows that need no check.
 */
const ROWS_KNOWN = sql`case
  when settled_at is not null then coalesce(done_count, row_count)
  when remaining = ${SUBJECTS} then 0
  else round(row_count * (case
      when greatest(email_count, phone_count, ip_count, domain_count) = ${SUBJECTS}
      then billable_count - remaining else known_count end)::numeric / greatest(1, billable_count))
  end`

/** Sums over the chunks of batches, by batch id; one without chunks has none. */
async function sumsOf(
  db: Db | Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BatchSums>> {
  if (ids.length === 0) return new Map()
  const totals = CHECKS.map((check) => sql`${sql.lit(check)}, sum(${sql.ref(`${check}_count`)})`)
  const verdicts = [1, 2, 3, 4].map((at) => sql`coalesce(sum(verdicts[${sql.lit(at)}]), 0)`)
  const rows = await queriesOf(db)
    .selectFrom('chunks')
    .select([
      'batch_id as id',
      sql<number>`coalesce(sum(${ROWS_KNOWN}), 0)::bigint`.as('rowsDone'),
      sql<number>`coalesce(sum(case when settled_at is null then prepaid else charged end), 0)::bigint`.as(
        'creditsUsed',
      ),
      sql<number>`coalesce(sum(prepaid), 0)::bigint`.as('prepaid'),
      sql<number>`1 - sum(remaining) / greatest(1, sum(${SUBJECTS}))::float8`.as('answeredShare'),
      sql<BatchSums['totals']>`jsonb_build_object(${sql.join(totals)})`.as('totals'),
      sql<readonly number[]>`array[${sql.join(verdicts)}]::bigint[]`.as('verdicts'),
      // It is used to estimate the time of a running batch; other batches do not need it.
      sql<OpenSubjects | null>`case when exists (
          select from batches where batches.id = chunks.batch_id and batches.status = 'running')
        then ${openSubjects('chunks.batch_id')} end`.as('seen'),
      // One step in an index: the batch is read many times a second.
      sql<number>`coalesce((
          select greatest(0, extract(epoch from due_at - clock_timestamp()) * 1000)::float8
          from tasks where tasks.batch_id = chunks.batch_id and due_at is not null
          order by due_at desc limit 1), 0)`.as('waitMs'),
    ])
    .where('batch_id', 'in', [...ids])
    .groupBy('batch_id')
    .execute()
  return new Map(
    rows.map(({ id, seen, ...sums }) => [
      id,
      { ...sums, isOpenCounted: seen !== null, ...(seen ?? { open: {}, groups: [] }) },
    ]),
  )
}

/** The sums over the chunks of one batch; undefined if it has none. */
export async function sumsOfBatch(db: Db | Tx, id: string): Promise<BatchSums | undefined> {
  return (await sumsOf(db, [id])).get(id)
}

/** The sums of those batches by id whose rows do not hold them, as those of ended ones do. */
export async function sumsOfRows(
  db: Db | Tx,
  rows: readonly Pick<ShownBatch, 'id' | 'sums'>[],
): Promise<ReadonlyMap<string, BatchSums>> {
  return await sumsOf(
    db,
    rows.filter(({ sums }) => sums === null).map(({ id }) => id),
  )
}

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
