import type { Check } from '@plumbline/contract/products'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { INTAKE_STATES, sqlStates } from './states.ts'
import type { StageFence } from './stages.ts'

/** The key of a chunk. */
export interface ChunkKey {
  readonly batchId: string
  readonly no: number
}

/** A chunk to store. */
export interface NewChunk {
  readonly no: number
  readonly firstRow: number
  readonly rowCount: number
  readonly billableCount: number
  readonly counts: Readonly<Record<Check, number>>
  readonly subjects: Buffer
  readonly cells: Buffer
}

/**
 * Stores chunks of a batch, if the fencing number still owns it.
 *
 * @returns false if another worker has the stage; nothing is stored then
 */
export async function insertChunks(
  db: Db,
  stage: StageFence,
  chunks: readonly NewChunk[],
): Promise<boolean> {
  const { rowCount } = await db.pool.query({
    name: 'chunks.insert',
    text: `
      insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count,
        phone_count, ip_count, domain_count, remaining, subjects, cells)
      select b.id, c.no, c.first_row, c.row_count, c.billable_count, c.email, c.phone, c.ip,
        c.domain, c.email + c.phone + c.ip + c.domain, c.subjects, c.cells
      from (select id from batches
            where id = $1 and lease = $2 and status in ${sqlStates(INTAKE_STATES)} for share) b,
        unnest($3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::int[],
          $10::int[], $11::bytea[], $12::bytea[])
        as c(no, first_row, row_count, billable_count, email, phone, ip, domain, subjects, cells)`,
    values: [
      stage.batchId,
      stage.lease,
      chunks.map((chunk) => chunk.no),
      chunks.map((chunk) => chunk.firstRow),
      chunks.map((chunk) => chunk.rowCount),
      chunks.map((chunk) => chunk.billableCount),
      chunks.map((chunk) => chunk.counts.email),
      chunks.map((chunk) => chunk.counts.phone),
      chunks.map((chunk) => chunk.counts.ip),
      chunks.map((chunk) => chunk.counts.domain),
      chunks.map((chunk) => chunk.subjects),
      chunks.map((chunk) => chunk.cells),
    ],
  })
  return rowCount === chunks.length
}

/** Stores a chunk of a batch that was inserted in the same transaction. */
export async function insertOwnChunk(tx: Tx, batchId: string, chunk: NewChunk): Promise<void> {
  const { email, phone, ip, domain } = chunk.counts
  await sql`
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
      ip_count, domain_count, remaining, subjects, cells)
    values (${batchId}, ${chunk.no}, ${chunk.firstRow}, ${chunk.rowCount}, ${chunk.billableCount},
      ${email}, ${phone}, ${ip}, ${domain}, ${email + phone + ip + domain}, ${chunk.subjects},
      ${chunk.cells})
  `.execute(tx)
}

/** How many rows the chunks of a batch hold. */
export async function countRows(db: Db | Tx, batchId: string): Promise<number> {
  const row = await queriesOf(db)
    .selectFrom('chunks')
    .select(sql<number>`coalesce(sum(row_count), 0)::bigint`.as('rows'))
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow()
  return row.rows
}

/** How many subjects of each check the chunks of a batch hold. */
export async function subjectCounts(
  db: Db | Tx,
  batchId: string,
): Promise<Readonly<Record<Check, number>>> {
  const total = (column: `${Check}_count`) =>
    sql<number>`coalesce(sum(${sql.ref(column)}), 0)::bigint`
  return await queriesOf(db)
    .selectFrom('chunks')
    .select([
      total('email_count').as('email'),
      total('phone_count').as('phone'),
      total('ip_count').as('ip'),
      total('domain_count').as('domain'),
    ])
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow()
}

/** Outcomes of a chunk and check that were stored together. */
export interface Part {
  readonly check: Check
  /** Positions that have an outcome; null means all of them in order. */
  readonly indexes: readonly number[] | null
  readonly outcomes: Buffer
}

/** The subjects of a chunk and their outcomes. */
export interface AnsweredChunk {
  readonly no: number
  readonly firstRow: number
  readonly settled: boolean
  /** Whether a cancel settled the chunk while some outcomes were missing. */
  readonly partly: boolean
  readonly subjects: Buffer
  readonly parts: readonly Part[]
}

/** A chunk with all data that its results are made of. */
export interface StoredChunk extends AnsweredChunk {
  readonly settledAt: Date | null
  readonly rowCount: number
  readonly cells: Buffer
}

/** Chunks from `fromNo` on, in order, each with its parts. */
export async function readChunks(
  db: Db,
  batchId: string,
  range: { fromNo: number; most: number },
): Promise<readonly StoredChunk[]> {
  const nos = Array.from({ length: range.most }, (_, at) => range.fromNo + at)
  const { rows } = await db.pool.query<Omit<StoredChunk, 'parts'>>({
    name: 'chunks.page',
    text: `
      select no, first_row as "firstRow", row_count as "rowCount", settled_at as "settledAt",
        settled_at is not null as settled, done_count is not null as partly, subjects, cells
      from chunks where batch_id = $1 and no = any($2) order by no`,
    values: [batchId, nos],
  })
  return await withParts(db, batchId, rows)
}

/**
 * The first chunk from `fromNo` on that is not settled; `none` if all are, `lost` if the fencing
 * number does not own the batch any more.
 */
export async function firstOpenChunk(
  db: Db,
  stage: StageFence,
  fromNo: number,
): Promise<number | 'none' | 'lost'> {
  const { rows } = await db.pool.query<{ no: number | null }>({
    name: 'chunks.open',
    text: `
      select (select no from chunks c
        where c.batch_id = b.id and c.no >= $3 and c.settled_at is null order by no limit 1)
      from batches b where b.id = $1 and b.lease = $2`,
    values: [stage.batchId, stage.lease, fromNo],
  })
  const [row] = rows
  return row === undefined ? 'lost' : (row.no ?? 'none')
}

/** Subjects and outcomes of these chunks, without their cells. */
export async function readAnswers(
  db: Db,
  batchId: string,
  nos: readonly number[],
): Promise<readonly AnsweredChunk[]> {
  const { rows } = await db.pool.query<Omit<AnsweredChunk, 'parts'>>({
    name: 'chunks.answers',
    text: `
      select no, first_row as "firstRow", settled_at is not null as settled,
        done_count is not null as partly, subjects
      from chunks where batch_id = $1 and no = any($2) order by no`,
    values: [batchId, nos],
  })
  return await withParts(db, batchId, rows)
}

/**
 * Chunks with their parts, which are read after them, so that every chunk that was read as settled
 * has all its parts.
 */
async function withParts<C extends { readonly no: number }>(
  db: Db,
  batchId: string,
  chunks: readonly C[],
): Promise<readonly (C & { readonly parts: readonly Part[] })[]> {
  const { rows } = await db.pool.query<Part & { readonly no: number }>({
    name: 'parts.page',
    text: `
      select chunk_no as no, check_kind as check, indexes, outcomes
      from parts where batch_id = $1 and chunk_no = any($2)`,
    values: [batchId, chunks.map(({ no }) => no)],
  })
  const parts = Map.groupBy(rows, ({ no }) => no)
  return chunks.map((chunk) => ({ ...chunk, parts: parts.get(chunk.no) ?? [] }))
}

/** The subjects of one chunk, packed. */
export async function readSubjects(db: Db | Tx, chunk: ChunkKey): Promise<Buffer | undefined> {
  const row = await queriesOf(db)
    .selectFrom('chunks')
    .select('subjects')
    .where('batch_id', '=', chunk.batchId)
    .where('no', '=', chunk.no)
    .executeTakeFirst()
  return row?.subjects
}

/** Every part of one chunk. */
export async function partsOfChunk(db: Db | Tx, chunk: ChunkKey): Promise<readonly Part[]> {
  return await queriesOf(db)
    .selectFrom('parts')
    .select(['check_kind as check', 'indexes', 'outcomes'])
    .where('batch_id', '=', chunk.batchId)
    .where('chunk_no', '=', chunk.no)
    .execute()
}

/** Number and first row of every chunk, in order. */
export async function firstRowsOf(
  db: Db | Tx,
  batchId: string,
): Promise<readonly { readonly no: number; readonly firstRow: number }[]> {
  return await queriesOf(db)
    .selectFrom('chunks')
    .select(['no', 'first_row as firstRow'])
    .where('batch_id', '=', batchId)
    .orderBy('no')
    .execute()
}

/** When each chunk of a batch was settled, in order; null for open ones. */
export async function settledTimesOf(
  db: Db | Tx,
  batchId: string,
): Promise<readonly (Date | null)[]> {
  const rows = await queriesOf(db)
    .selectFrom('chunks')
    .select('settled_at')
    .where('batch_id', '=', batchId)
    .orderBy('no')
    .execute()
  return rows.map((row) => row.settled_at)
}
