import { sql } from 'kysely'
import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { Check } from '@plumbline/contract/products'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { ChunkKey } from './chunks.ts'
import { readBatch, type BatchRow } from './rows.ts'
import type { Prepaid } from './settle.ts'

/** How many records of each chunk are billable, in chunk order; chunks without any are left out. */
export async function billableChunks(
  db: Db,
  batchId: string,
): Promise<readonly { readonly no: number; readonly count: number }[]> {
  return await queriesOf(db)
    .selectFrom('chunks')
    .select(['no', 'billable_count as count'])
    .where('batch_id', '=', batchId)
    .where('billable_count', '>', 0)
    .orderBy('no')
    .execute()
}

/** Whether a sample is still being checked. */
export async function isSampling(db: Db | Tx, sampleId: string | null): Promise<boolean> {
  if (sampleId === null) return false
  const row = await readBatch(db, sampleId)
  return row !== undefined && UNFINISHED_STATES.includes(row.status)
}

/** Locks the samples of a batch that are still being checked, for the rest of the transaction. */
export async function lockSampling(tx: Tx, batchId: string): Promise<readonly string[]> {
  const rows = await tx
    .selectFrom('batches')
    .select('id')
    .where('sample_of', '=', batchId)
    .where('status', 'in', UNFINISHED_STATES)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Samples that have used up their time and are not being ended yet, by database time; those dated in
 * the future are older than they seem, since the clock was set back.
 */
export async function overdueSamples(db: Db, seconds: number): Promise<readonly string[]> {
  const rows = await queriesOf(db)
    .selectFrom('batches')
    .select('id')
    .where('sample_of', 'is not', null)
    .where('status', '=', 'running')
    .where(sql<boolean>`created_at not between clock_timestamp() - ${seconds} * interval '1 s'
      and clock_timestamp() + interval '1 minute'`)
    .limit(100)
    .execute()
  return rows.map(({ id }) => id)
}

/** Marks every sample of a batch for erasure and returns them. */
export async function eraseSamples(tx: Tx, batchId: string): Promise<readonly BatchRow[]> {
  return await tx
    .updateTable('batches')
    .set({ erasing: 'all', expires_at: null })
    .where('sample_of', '=', batchId)
    .returningAll()
    .execute()
}

/** Locks a chunk from which a sample drew rows, for the rest of the transaction. */
export async function lockSampledChunk(
  tx: Tx,
  batchId: string,
  no: number,
): Promise<{ readonly subjects: Buffer } | undefined> {
  return await tx
    .selectFrom('chunks')
    .select('subjects')
    .where('batch_id', '=', batchId)
    .where('no', '=', no)
    .where('settled_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Outcomes of a sample, to be stored in the chunk that its rows came from. */
export interface SampledPart {
  readonly check: Check
  /** Positions in the chunk's subjects of the check. */
  readonly indexes: readonly number[]
  readonly outcomes: Buffer
}

/**
 * Stores the outcomes of a sample in a chunk, and what it has paid for them.
 *
 * @returns how many subjects of the chunk are still open
 */
export async function storeSampledParts(
  tx: Tx,
  chunk: ChunkKey,
  parts: readonly SampledPart[],
  prepaid: Prepaid,
): Promise<number> {
  let count = 0
  for (const { check, indexes, outcomes } of parts) {
    count += indexes.length
    await sql`
      insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes)
      values (${chunk.batchId}, ${chunk.no}, ${check}, ${[...indexes]}::int[], ${outcomes})
    `.execute(tx)
  }
  const { rows } = await sql<{ remaining: number }>`
    update chunks set remaining = remaining - ${count}, prepaid = prepaid + ${prepaid.credits},
      prepaid_records = prepaid_records + ${prepaid.records}
    where batch_id = ${chunk.batchId} and no = ${chunk.no}
    returning remaining
  `.execute(tx)
  return rows[0]?.remaining ?? 0
}

/** Credits that samples have paid for the chunks of a batch. */
export async function prepaidCredits(tx: Tx | Db, batchId: string): Promise<number> {
  const { prepaid } = await queriesOf(tx)
    .selectFrom('chunks')
    .select(sql<number>`coalesce(sum(prepaid), 0)::bigint`.as('prepaid'))
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow()
  return prepaid
}

/**
 * Sets to zero what samples have paid for the chunks of a batch that is to be read again.
 *
 * @returns how many credits that was
 */
export async function voidPrepaid(tx: Tx, batchId: string): Promise<number> {
  const prepaid = await prepaidCredits(tx, batchId)
  await tx
    .updateTable('chunks')
    .set({ prepaid: 0, prepaid_records: 0, charged: 0 })
    .where('batch_id', '=', batchId)
    .where('prepaid', '>', 0)
    .execute()
  return prepaid
}

/** What a sample has paid for one chunk. */
export async function prepaidOf(tx: Tx, chunk: ChunkKey): Promise<Prepaid> {
  const row = await tx
    .selectFrom('chunks')
    .select(['prepaid as credits', 'prepaid_records as records'])
    .where('batch_id', '=', chunk.batchId)
    .where('no', '=', chunk.no)
    .executeTakeFirst()
  return row ?? { credits: 0, records: 0 }
}
