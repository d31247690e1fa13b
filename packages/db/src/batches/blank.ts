import type { Json } from '@plumbline/contract/outcome'
import type { KeyMode } from '@plumbline/contract/plans'
import type { Check } from '@plumbline/contract/products'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { jsonbText } from '../jsonb.ts'
import { SQLSTATE } from '../sqlstate.ts'
import type { Part } from './chunks.ts'

/** Stored outcomes of a chunk and check. */
export interface HeldPart extends Part {
  readonly id: number
}

/** Subjects of a waiting task. */
export interface HeldTask {
  readonly id: number
  /** Another one after each change of its row. */
  readonly version: string
  readonly check: Check
  readonly indexes: readonly number[] | null
  readonly states: readonly (Json | null)[] | null
}

/** Everything of a chunk that may name a person. */
export interface HeldChunk {
  readonly no: number
  readonly subjects: Buffer
  readonly cells: Buffer
  readonly parts: readonly HeldPart[]
  readonly tasks: readonly HeldTask[]
}

/** Chunks of a batch from a number on, in order, with everything in them that may name a person. */
export async function readHeldChunks(
  db: Db,
  batchId: string,
  range: { readonly fromNo: number; readonly most: number },
): Promise<readonly HeldChunk[]> {
  const { rows } = await db.pool.query<{ no: number; subjects: Buffer; cells: Buffer }>({
    name: 'blank.chunks',
    text: `select no, subjects, cells from chunks where batch_id = $1 and no >= $2
           order by no limit $3`,
    values: [batchId, range.fromNo, range.most],
  })
  return await withAnswers(db, batchId, rows)
}

/** Locks one chunk for the rest of the transaction, so that nothing is stored in it meanwhile. */
export async function lockHeldChunk(
  tx: Tx,
  batchId: string,
  no: number,
): Promise<HeldChunk | undefined> {
  const rows = await tx
    .selectFrom('chunks')
    .select(['no', 'subjects', 'cells'])
    .where('batch_id', '=', batchId)
    .where('no', '=', no)
    .forUpdate()
    .execute()
  // A statement of its own, so that it sees what was committed while the lock was awaited.
  return (await withAnswers(tx, batchId, rows))[0]
}

async function withAnswers(
  db: Db | Tx,
  batchId: string,
  chunks: readonly { readonly no: number; readonly subjects: Buffer; readonly cells: Buffer }[],
): Promise<readonly HeldChunk[]> {
  if (chunks.length === 0) return []
  const nos = chunks.map(({ no }) => no)
  const parts = await queriesOf(db)
    .selectFrom('parts')
    .select(['id', 'chunk_no', 'check_kind as check', 'indexes', 'outcomes'])
    .where('batch_id', '=', batchId)
    .where('chunk_no', 'in', nos)
    .execute()
  const tasks = await queriesOf(db)
    .selectFrom('tasks')
    .select(['id', 'chunk_no', 'check_kind as check', 'indexes', 'states'])
    .select(sql<string>`xmin::text`.as('version'))
    .where('batch_id', '=', batchId)
    .where('chunk_no', 'in', nos)
    .where('states', 'is not', null)
    .execute()
  return chunks.map((chunk) => ({
    ...chunk,
    parts: parts.filter((part) => part.chunk_no === chunk.no),
    tasks: tasks.filter((task) => task.chunk_no === chunk.no),
  }))
}

/** The columns of a chunk to overwrite; those left out stay. */
export interface BlankedChunk {
  readonly subjects?: Buffer
  readonly cells?: Buffer
  readonly parts: readonly { readonly id: number; readonly outcomes: Buffer }[]
  readonly tasks: readonly (Pick<HeldTask, 'id' | 'version'> & {
    readonly states: readonly (Json | null)[]
  })[]
}

/**
 * Overwrites a locked chunk without the erased values.
 *
 * @throws TaskChanged
 */
export async function writeBlanked(
  tx: Tx,
  batchId: string,
  no: number,
  { subjects, cells, parts, tasks }: BlankedChunk,
): Promise<void> {
  if (subjects !== undefined || cells !== undefined) {
    await tx
      .updateTable('chunks')
      .set({
        ...(subjects === undefined ? {} : { subjects, has_erased: true }),
        ...(cells === undefined ? {} : { cells }),
      })
      .where('batch_id', '=', batchId)
      .where('no', '=', no)
      .execute()
  }
  for (const { id, outcomes } of parts) {
    await tx
      .updateTable('parts')
      .set({ outcomes })
      .where('batch_id', '=', batchId)
      .where('chunk_no', '=', no)
      .where('id', '=', id)
      .execute()
  }
  for (const { id, version, states } of tasks) {
    const { numUpdatedRows } = await tx
      .updateTable('tasks')
      .set({ states: jsonbText(states) })
      .where('id', '=', id)
      .where(sql<boolean>`xmin::text = ${version}`)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new TaskChanged('a task of the chunk has changed meanwhile')
  }
}

/**
 * Thrown if a task of a locked chunk has changed since it was read, as the dispatcher merges and cuts
 * tasks without that lock: its states may be those of other subjects now, or be in another task. It is
 * temporary.
 */
class TaskChanged extends Error {
  readonly code = SQLSTATE.serializationFailure
}

/** Whether any subjects of a chunk were erased. */
export async function hasErased(tx: Tx, batchId: string, no: number): Promise<boolean> {
  const row = await tx
    .selectFrom('chunks')
    .select('has_erased')
    .where('batch_id', '=', batchId)
    .where('no', '=', no)
    .executeTakeFirst()
  return row?.has_erased === true
}

/**
 * Records that rows of a batch were blanked, so that its result file must be rewritten. A worker
 * that writes the result of a running batch early loses its lease: its unfinished file may hold the
 * erased values.
 */
export async function countBlanked(tx: Tx, batchId: string): Promise<void> {
  await sql`
    update batches
    set blank_count = blank_count + 1,
      lease = lease + case when status = 'running' then 1 else 0 end,
      lease_until = case when status = 'running' then null else lease_until end
    where id = ${batchId}
  `.execute(tx)
}

/**
 * Batches of an account, created before a time, that may still show blanked values: those in
 * `deleted` are being erased with all their rows, those in `ending` are writing their result.
 */
export async function unfinishedEnds(
  db: Db,
  { accountId, modes }: { readonly accountId: string; readonly modes: readonly KeyMode[] },
  until: string,
): Promise<{ readonly deleted: readonly string[]; readonly ending: readonly string[] }> {
  const { rows } = await sql<{ id: string; deleted: boolean }>`
    select id, erasing is not null as deleted from batches
    where account_id = ${accountId} and mode = any(${[...modes]})
      and created_at <= ${until}::timestamptz
      and (erasing = 'all'
        or (erasing is null and status in ('finalizing', 'canceling') and blank_count > 0))
    order by id
  `.execute(queriesOf(db))
  const idsOf = (deleted: boolean): readonly string[] =>
    rows.filter((row) => row.deleted === deleted).map(({ id }) => id)
  return { deleted: idsOf(true), ending: idsOf(false) }
}
