import type { KeyMode } from '@plumbline/contract/plans'
import { sql, type RawBuilder } from 'kysely'
import { queriesOf, type Db } from '../database.ts'
import type { BatchOwner, BatchRow } from './rows.ts'
import { SHOWN_COLUMNS, SHOWN_NAMES, type ShownBatch } from './shown-columns.ts'

/** Position in a walk through the batches of an account and mode, in order of creation. */
export interface BatchCursor {
  /** Timestamp as Postgres prints it, in full precision. */
  readonly createdAt: string
  readonly id: string
}

/**
 * The next batch after a position, of any kind and state except those that are being erased
 * entirely.
 */
export async function nextBatch(
  db: Db,
  owner: BatchOwner,
  after: BatchCursor | null,
): Promise<BatchCursor | undefined> {
  const { rows } = await sql<BatchCursor>`
    select id, created_at::text as "createdAt" from batches
    where account_id = ${owner.accountId} and mode = ${owner.mode} and ${isBehind(after)}
      and erasing is distinct from 'all'
    order by created_at, id limit 1
  `.execute(queriesOf(db))
  return rows[0]
}

function isBehind(after: BatchCursor | null): RawBuilder<boolean> {
  if (after === null) return sql`true`
  return sql`(created_at, id) > (${after.createdAt}::timestamptz, ${after.id})`
}

/** Columns of a batch that tell what is stored of it, beside those that its view needs. */
const STORED_COLUMNS = [
  'mode',
  'is_lookup',
  'sample_of',
  'requested',
  'source_key',
  'source_erased',
  'erasing',
] as const satisfies readonly (keyof BatchRow)[]

/** A batch as it is exported: its view, and what is stored of it. */
export type OwnBatch = ShownBatch & Pick<BatchRow, (typeof STORED_COLUMNS)[number]>

/**
 * Batches of an account and mode after a position, of any kind and state except those that are
 * being erased entirely.
 */
export async function pageOfOwnBatches(
  db: Db,
  owner: BatchOwner,
  after: BatchCursor | null,
  most: number,
): Promise<readonly (OwnBatch & BatchCursor)[]> {
  return await db.kysely
    .selectFrom('batches')
    .select(SHOWN_COLUMNS)
    .select(STORED_COLUMNS)
    .select(SHOWN_NAMES)
    .select(sql<string>`created_at::text`.as('createdAt'))
    .where('account_id', '=', owner.accountId)
    .where('mode', '=', owner.mode)
    .where(isBehind(after))
    .where(sql<boolean>`erasing is distinct from 'all'`)
    .orderBy('created_at')
    .orderBy('id')
    .limit(most)
    .execute()
}

/**
 * Batches of an account that were made since a time from the rows of other batches, oldest first.
 */
export async function derivedSince(
  db: Db,
  { accountId, modes }: { readonly accountId: string; readonly modes: readonly KeyMode[] },
  since: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from batches
    where account_id = ${accountId} and mode = any(${[...modes]}) and created_at >= ${since}::timestamptz
      and (origin_id is not null or sample_of is not null) and erasing is distinct from 'all'
    order by created_at
  `.execute(queriesOf(db))
  return rows.map(({ id }) => id)
}
