import { PAUSED_DAYS, UNFINISHED_STATES, type BatchState } from '@plumbline/contract/batch'
import type { KeyMode } from '@plumbline/contract/plans'
import { sql, type Insertable, type RawBuilder, type Selectable, type Updateable } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { BatchesTable } from '../tables/batches.ts'
import { SHOWN_COLUMNS, SHOWN_NAMES, type ShownBatch } from './shown-columns.ts'
import { FILELESS_STATES, RETAINED_STATES, sqlStates, statesBefore } from './states.ts'

/** A row of `batches`. */
export type BatchRow = Selectable<BatchesTable>

/** Owner of a batch. An id of another account, or of the other mode, is not found. */
export interface BatchOwner {
  readonly accountId: string
  readonly mode: KeyMode
}

/** Current time by the database's clock, as `ats` stores it: ISO 8601 with milliseconds, UTC. */
export const NOW_TEXT = sql<string>`to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * Writes a new batch in state `analyzing`, and returns its row.
 *
 * @param leaseMs milliseconds that its first stage is leased for the job that the caller enqueues;
 * null if the dispatcher is to lease it when its turn comes
 */
export async function insertBatch(
  db: Db | Tx,
  row: Omit<Insertable<BatchesTable>, 'status' | 'ats' | 'lease' | 'lease_until'>,
  leaseMs: number | null,
): Promise<BatchRow> {
  return await queriesOf(db)
    .insertInto('batches')
    .values({
      ...row,
      status: 'analyzing',
      ats: sql`jsonb_build_object('analyzing', ${NOW_TEXT})`,
      lease: 1,
      lease_until: leaseMs === null ? null : sql`clock_timestamp() + ${leaseMs} * interval '1 ms'`,
    } as Insertable<BatchesTable>)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Hides batches that are being erased entirely, and samples, which are shown with their batch. */
const IS_KEPT = sql<boolean>`erasing is distinct from 'all' and sample_of is null`

/**
 * How many batches of an account have not ended. The states are literals so that Postgres uses the
 * partial index over them.
 */
export async function countUnfinished(db: Db | Tx, accountId: string): Promise<number> {
  const row = await queriesOf(db)
    .selectNoFrom(
      sql<number>`(select count(*) from batches where account_id = ${accountId}
        and status in ${sql.raw(sqlStates(UNFINISHED_STATES))} and not is_lookup and ${IS_KEPT})`.as(
        'unfinished',
      ),
    )
    .executeTakeFirstOrThrow()
  return row.unfinished
}

/** Bytes of the files of an account's batches, read from a partial index; lookups are not counted. */
export async function sumFileBytes(db: Db | Tx, accountId: string): Promise<number> {
  const row = await queriesOf(db)
    .selectNoFrom(
      sql<number>`(select coalesce(sum(file_bytes + coalesce(result_bytes, 0)), 0)::bigint from batches
        where account_id = ${accountId} and status not in ${sql.raw(sqlStates(FILELESS_STATES))}
        and not is_lookup and ${IS_KEPT})`.as('file_bytes'),
    )
    .executeTakeFirstOrThrow()
  return row.file_bytes
}

/** Seed of the advisory locks of lookups, by account; no other lock of the product has it. */
const LOOKUPS_SEED = 203

/**
 * How many asynchronous lookups of an account are not answered yet; concurrent callers wait for the
 * end of the transaction. They do not wait by the account's row: a change of plan locks that
 * after the balance, and a lookup locks the balance next.
 */
export async function countOpenLookups(tx: Tx, accountId: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${accountId}, ${LOOKUPS_SEED}))`.execute(
    tx,
  )
  const row = await tx
    .selectFrom('batches')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('account_id', '=', accountId)
    .where('is_lookup', '=', true)
    .where('status', 'in', ['running', 'finalizing'])
    .executeTakeFirstOrThrow()
  return row.open
}

/** Whether batches or lookups of any owner have not ended, in the order of their ids. */
export async function areUnfinished(db: Db, ids: readonly string[]): Promise<readonly boolean[]> {
  const { rows } = await db.pool.query<{ id: string }>({
    name: 'batches.unfinished',
    text: 'select id from batches where id = any($1) and status = any($2)',
    values: [ids, UNFINISHED_STATES],
  })
  const unfinished = new Set(rows.map(({ id }) => id))
  return ids.map((id) => unfinished.has(id))
}

/** The batch of this owner; undefined if there is none. */
export async function findBatch(
  db: Db | Tx,
  owner: BatchOwner,
  id: string,
): Promise<BatchRow | undefined> {
  return await queriesOf(db)
    .selectFrom('batches')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', owner.accountId)
    .where('mode', '=', owner.mode)
    .where(IS_KEPT)
    .executeTakeFirst()
}

/** A batch by its id, of any owner, for workers. */
export async function readBatch(db: Db | Tx, id: string): Promise<BatchRow | undefined> {
  return await queriesOf(db)
    .selectFrom('batches')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Batches by id; ids without a batch are left out. */
export async function readBatches(
  db: Db | Tx,
  ids: readonly string[],
): Promise<readonly BatchRow[]> {
  if (ids.length === 0) return []
  return await queriesOf(db)
    .selectFrom('batches')
    .selectAll()
    .where('id', 'in', [...ids])
    .execute()
}

/** Position of a batch in a listing; `createdUs` in microseconds since the Unix epoch. */
export interface BatchPosition {
  readonly createdUs: number
  readonly id: string
}

/** Filters of a listing of batches. */
export interface BatchPageRequest {
  readonly limit: number
  readonly after: BatchPosition | undefined
  /** States to include; all if none is given. */
  readonly states?: readonly BatchState[]
  /** Text that the name, file name or id must contain, ignoring case. */
  readonly search?: string | undefined
}

/** A page of a listing of batches. */
export interface BatchRowPage {
  readonly rows: readonly (ShownBatch & BatchPosition)[]
  /** Where the next page begins; null if no batch can follow. */
  readonly next: BatchPosition | null
}

/** Batches that a filter looks at for one page: 5 to 10 ms, of however many the account has. */
export const MOST_FILTERED = 2_000

/**
 * A page of batches, newest first, after a position. With a filter it may have fewer rows than its
 * limit, or none, although more follow: the next page goes on behind those that it has looked at.
 */
export async function pageOfBatches(
  db: Db | Tx,
  owner: BatchOwner,
  page: BatchPageRequest,
): Promise<BatchRowPage> {
  const filter = filterOf(page)
  const most = filter === undefined ? page.limit + 1 : MOST_FILTERED
  const seen = seenBatches(db, owner, page.after, { filter: filter ?? sql`true`, most })
  const found = queriesOf(db)
    .selectFrom(seen.as('seen'))
    .selectAll()
    .where(({ or, eb }) => or([eb('matches', '=', true), eb('place', '=', most)]))
    .orderBy('place')
    .limit(page.limit + 1)
  const rows = await queriesOf(db)
    .selectFrom(found.as('found'))
    .innerJoin('batches', 'batches.id', 'found.seen_id')
    .select(SHOWN_COLUMNS)
    .select(SHOWN_NAMES)
    .select(['found.matches', 'found.place', createdUs.as('createdUs')])
    .orderBy('found.place')
    .execute()
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, page.limit)
  const isMore = matching.length > page.limit
  const last = isMore ? shown.at(-1) : rows.find(({ place }) => place === most)
  return { rows: shown, next: last ?? null }
}

/** SQL: whether a batch passes the filters of a listing; undefined if it has none. */
function filterOf({ states = [], search }: BatchPageRequest): RawBuilder<boolean> | undefined {
  const filters: RawBuilder<boolean>[] = []
  if (states.length > 0) filters.push(sql`status = any(${[...states]})`)
  if (search !== undefined) {
    filters.push(sql`strpos(lower(concat_ws(' ', name, file_name, id)), lower(${search})) > 0`)
  }
  return filters.length === 0 ? undefined : sql<boolean>`${sql.join(filters, sql` and `)}`
}

/** SQL: when a batch was created, as in its position. */
const createdUs = sql<number>`(extract(epoch from created_at) * 1000000)::bigint`

/** SQL: the next `most` batches of a listing, in its order, and which of them pass the filter. */
function seenBatches(
  db: Db | Tx,
  owner: BatchOwner,
  after: BatchPosition | undefined,
  { filter, most }: { readonly filter: RawBuilder<boolean>; readonly most: number },
) {
  const query = queriesOf(db)
    .selectFrom('batches')
    .select('id as seen_id')
    .select(filter.as('matches'))
    .select(sql<number>`row_number() over (order by created_at desc, id desc)`.as('place'))
    .where('account_id', '=', owner.accountId)
    .where('mode', '=', owner.mode)
    .where('is_lookup', '=', false)
    .where(IS_KEPT)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
  if (after === undefined) return query
  const createdAt = sql`timestamptz 'epoch' + ${after.createdUs}::bigint * interval '1 microsecond'`
  return query.where(sql<boolean>`(created_at, id) < (${createdAt}, ${after.id})`)
}

const RETAINED: readonly BatchState[] = RETAINED_STATES

/** A batch that waits to be started is kept for at least a day, however short its retention. */
const LEAST_DAYS: { readonly [S in BatchState]?: number } = { ready: 1 }

/**
 * Moves a batch to a state, from any state that the contract allows, and releases its stage lease.
 * Returns the row, or undefined if it was in none of those states.
 *
 * @param lease the fencing number that must still own the batch, if given
 */
export async function moveBatch(
  tx: Tx,
  id: string,
  to: BatchState,
  fields: Updateable<BatchesTable> = {},
  lease?: number,
): Promise<BatchRow | undefined> {
  let query = tx
    .updateTable('batches')
    .set({
      ...fields,
      status: to,
      ats: sql`ats || jsonb_build_object(${to}::text, ${NOW_TEXT})`,
      lease: sql`lease + 1`,
      lease_until: null,
      stage_attempts: 0,
      resumes_at:
        to === 'paused' ? sql`clock_timestamp() + ${PAUSED_DAYS} * interval '1 day'` : null,
      expires_at: RETAINED.includes(to)
        ? sql`clock_timestamp() + greatest(retention_days, ${LEAST_DAYS[to] ?? 0}) * interval '1 day'`
        : null,
    })
    .where('id', '=', id)
    .where('status', 'in', statesBefore(to))
  if (lease !== undefined) query = query.where('lease', '=', lease)
  return await query.returningAll().executeTakeFirst()
}

/** Updates columns of a batch without changing its state. */
export async function updateBatch(
  tx: Tx,
  id: string,
  fields: Updateable<BatchesTable>,
): Promise<void> {
  await tx.updateTable('batches').set(fields).where('id', '=', id).execute()
}

/** Locks a batch for the rest of the transaction; rows that reference it can still be written. */
export async function lockBatch(tx: Tx, id: string): Promise<BatchRow | undefined> {
  return await tx
    .selectFrom('batches')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}
