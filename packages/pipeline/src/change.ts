import type { BatchChange } from '@plumbline/contract/batch-change'
import { fieldsOf, unknownMapping } from '@plumbline/contract/batch-request'
import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import { deletePreview } from '@plumbline/db/batches/previews'
import { moveBatch, updateBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { voidPrepaid } from '@plumbline/db/batches/samples'
import { restartIntake } from '@plumbline/db/batches/stages'
import type { Tx } from '@plumbline/db/database'
import type { BatchRequest } from '@plumbline/db/tables/batches'
import { lockBatchOf, viewIn, type InTransaction } from './batch-access.ts'
import { knownRequest } from './known-request.ts'
import type { Pipeline } from './pipeline.ts'
import { endSamples } from './sampling.ts'

/** Fields that can be changed without reading the file again. */
const KEPT_READING: ReadonlySet<string> = new Set(['name', 'max_credits'])

/** Fields that say how a file is read; JSON records have none of them. */
const OF_FILES = [
  'mapping',
  'header',
  'sheet',
  'entry',
  'encoding',
  'delimiter',
  'known',
  'known_at',
] as const

/**
 * Maximum number of times that a batch is read again: each is free, and may take a worker half a
 * minute.
 */
const MOST_CHANGES = 100

/**
 * Changes a batch that waits at `ready`, or a dry run that is still being read. Unless only the
 * name or the credit limit changes, it becomes `analyzing` again, is read again, and then waits at
 * `ready`, even if it was to start automatically.
 *
 * @throws Problem `not_found`; `conflict` in other states and after too many changes; `bad_request`
 * for a field that the batch cannot have
 */
export async function changeBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  change: BatchChange,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    refuseState(row)
    const asked = Object.entries(change).filter(([, value]) => value !== undefined)
    refuseRecords(row, asked)
    const readsAnew = asked.some(([field]) => !KEPT_READING.has(field))
    const changed = readsAnew
      ? await changeReading(tx, row, change)
      : await changeWithoutReading(tx, row, change)
    return await viewIn(tx, changed, inTransaction)
  })
}

function refuseState({ status, auto_start: startsItself }: BatchRow): void {
  if (status === 'ready' || (status === 'analyzing' && !startsItself)) return
  throw new Problem(
    'conflict',
    `The batch is ${status}; only one that waits at ready is changed. Upload with start=false to be asked first.`,
  )
}

function refuseRecords(row: BatchRow, asked: readonly (readonly [string, unknown])[]): void {
  if (row.requested.format !== 'records') return
  const odd = asked.find(([field]) => OF_FILES.some((name) => name === field))
  if (odd !== undefined) {
    throw new Problem(
      'bad_request',
      `\`${odd[0]}\` says how a file is read; this batch came as records.`,
    )
  }
}

/** Changes the name or the credit limit of a batch. */
async function changeWithoutReading(tx: Tx, row: BatchRow, change: BatchChange): Promise<BatchRow> {
  const { max_credits: most } = change
  // The change also removes the limit or shortage that stopped the batch.
  const stopped = most !== undefined && row.read_whole
  const fields = { ...plainFields(change), ...(stopped ? { error: null } : {}) }
  await updateBatch(tx, row.id, fields)
  return { ...row, ...fields }
}

function plainFields({
  name,
  max_credits: most,
}: BatchChange): Partial<Pick<BatchRow, 'name' | 'max_credits'>> {
  return {
    ...(name === undefined ? {} : { name: name === '' ? null : name }),
    ...(most === undefined ? {} : { max_credits: most }),
  }
}

async function changeReading(tx: Tx, row: BatchRow, change: BatchChange): Promise<BatchRow> {
  if (row.source_erased) {
    throw new Problem(
      'conflict',
      'The file of the batch was erased with a value that it held; upload it again without that value.',
    )
  }
  if (row.change_count >= MOST_CHANGES) {
    throw new Problem(
      'conflict',
      `The batch was changed ${MOST_CHANGES} times; upload its file again.`,
    )
  }
  const product = change.product ?? row.product
  const country = change.default_country
  await deletePreview(tx, row.id)
  const voided = await voidSample(tx, row)
  const fields = {
    ...plainFields(change),
    ...UNREAD,
    credits_voided: row.credits_voided + voided,
    product,
    requested: JSON.stringify(requestOf(row.requested, change, product)),
    ...(country === undefined ? {} : { default_country: country }),
    file_format: row.requested.format ?? null,
    change_count: row.change_count + 1,
  }
  if (row.status === 'analyzing') return await restartIntake(tx, row.id, fields)
  const moved = await moveBatch(tx, row.id, 'analyzing', fields)
  if (moved === undefined) throw new Error(`batch ${row.id} left ${row.status} under its lock`)
  return moved
}

/**
 * Voids the sample of a batch; a sample under way is canceled, and reported once it has ended.
 *
 * @returns its charge, which is not refunded
 */
async function voidSample(tx: Tx, row: BatchRow): Promise<number> {
  if (row.sample_id === null) return 0
  await endSamples(tx, row.id)
  return await voidPrepaid(tx, row.id)
}

/** Columns that are unknown until a batch was read. */
const UNREAD = {
  auto_start: false,
  sample_id: null,
  weights: null,
  read_whole: false,
  error: null,
  encoding: null,
  encoding_confidence: null,
  sheet: null,
  sheets: null,
  entry: null,
  delimiter: null,
  header: null,
  column_count: 0,
  has_rest: false,
  mapping: '{}',
  rows_total: 0,
  rows_blank: 0,
  rows_refused: 0,
  rows_duplicate: 0,
  rows_known: 0,
  known: null,
  rows_billable: 0,
  credits_estimate: 0,
} as const

/** How the file is to be read after the change; null removes an option. */
function requestOf(asked: BatchRequest, change: BatchChange, product: Product): BatchRequest {
  const { mapping, header, sheet, entry, encoding, delimiter } = change
  const odd = Object.keys(mapping ?? {}).find((field) => !fieldsOf(product).includes(field))
  if (odd !== undefined) throw new Problem('bad_request', unknownMapping(odd, product))
  const verdicts = knownRequest(asked, change, product)
  const merged = {
    ...asked,
    // The fields of the earlier mapping that the new product has.
    mapping: mapping === undefined ? fieldsWithin(asked.mapping, product) : mapping,
    ...(header === undefined ? {} : { header }),
    ...(sheet === undefined ? {} : { sheet }),
    ...(entry === undefined ? {} : { entry }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...verdicts,
  }
  // Safe because it only leaves out fields without a value from an object of this shape.
  return Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== null && value !== undefined),
  ) as BatchRequest
}

function fieldsWithin(
  mapping: BatchRequest['mapping'],
  product: Product,
): BatchRequest['mapping'] | null {
  const kept = Object.entries(mapping ?? {}).filter(([field]) => fieldsOf(product).includes(field))
  return kept.length === 0 ? null : Object.fromEntries(kept)
}
