import { setTimeout as wait } from 'node:timers/promises'
import type { BatchPreview, CostPart, PreviewCounts } from '@plumbline/contract/batch-preview'
import { Problem } from '@plumbline/contract/problem'
import { checksOf, priceCredits } from '@plumbline/contract/products'
import { subjectCounts } from '@plumbline/db/batches/chunks'
import { findPreview, type StoredPreview } from '@plumbline/db/batches/previews'
import { type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { prepaidCredits } from '@plumbline/db/batches/samples'
import type { Db } from '@plumbline/db/database'
import { readBalance } from '@plumbline/metering/balance'
import { readBatchOf } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Milliseconds until the first check whether the start of the file was read; each further interval
 * is twice as long, up to the longest: a small file is read at once, a large one may wait its turn.
 */
const POLL_MS = 50
const LONGEST_POLL_MS = 400

/**
 * Summary and cost of a batch. Waits until the start of its file was read, at most `patienceMs`.
 *
 * @throws Problem `not_found`, also once erased; `conflict` if the batch failed, or is not read yet
 */
export async function previewBatch(
  pipeline: Pick<Pipeline, 'db'>,
  owner: BatchOwner,
  id: string,
  options: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<BatchPreview> {
  const deadline = performance.now() + options.patienceMs
  for (let pollMs = POLL_MS; ; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
    const { batch, preview, counted } = await findAtOnce(pipeline.db, owner, id)
    refuseEnded(batch)
    if (preview !== undefined) return await shown(pipeline.db, batch, preview, counted)
    refuseUnreadable(batch)
    if (performance.now() > deadline || options.signal.aborted) throw notReadYet()
    await wait(pollMs, undefined, { signal: options.signal }).catch(() => {})
  }
}

/** What a preview is made of besides its head, once every row was read. */
interface Counted {
  readonly counts: PreviewCounts
  readonly subjects: Awaited<ReturnType<typeof subjectCounts>>
  /** Credits of its sample. */
  readonly sampled: number
}

/** A batch and its preview at one moment: a change of the batch deletes its preview and its rows. */
async function findAtOnce(
  db: Db,
  owner: BatchOwner,
  id: string,
): Promise<{
  readonly batch: BatchRow
  readonly preview: StoredPreview | undefined
  readonly counted: Counted | null
}> {
  const snapshot = db.kysely
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
  return await snapshot.execute(async (tx) => {
    const batch = await readBatchOf(tx, owner, id)
    const preview = await findPreview(tx, id)
    const counts = preview?.counts ?? null
    if (!batch.read_whole || counts === null) return { batch, preview, counted: null }
    const subjects = await subjectCounts(tx, id)
    const sampled = await prepaidCredits(tx, id)
    return { batch, preview, counted: { counts, subjects, sampled } }
  })
}

function refuseEnded(batch: BatchRow): void {
  if (batch.status === 'failed') {
    const why = batch.error === null ? '' : `: ${batch.error.message}`
    throw new Problem('conflict', `The batch failed and has no preview${why}`)
  }
  if (batch.status === 'expired') {
    throw new Problem('not_found', 'The batch was erased when its retention ended.')
  }
}

/** Refuses a batch that has no preview and will have none: waiting for it would be in vain. */
function refuseUnreadable({ status, error, requested }: BatchRow): void {
  if (status === 'analyzing' && requested.rescore === undefined) return
  throw new Problem(
    'conflict',
    error === null
      ? 'There is no preview: no file is read for this batch.'
      : `There is no preview: ${error.message}`,
  )
}

function notReadYet(): Problem {
  return new Problem('conflict', 'The file is not read yet; ask again in a second.', {
    retryAfterSeconds: 1,
  })
}

async function shown(
  db: Db,
  batch: BatchRow,
  { head }: StoredPreview,
  counted: Counted | null,
): Promise<BatchPreview> {
  return {
    id: batch.id,
    product: batch.product,
    status: batch.status,
    ...head,
    default_country: batch.default_country,
    known: knownAsked(batch),
    counted: counted !== null,
    rows:
      counted === null
        ? null
        : {
            total: batch.rows_total,
            blank: batch.rows_blank,
            refused: batch.rows_refused,
            duplicate: batch.rows_duplicate,
            known: batch.rows_known,
            billable: batch.rows_billable,
          },
    refused: counted?.counts.refused ?? null,
    repeats: counted?.counts.repeats ?? null,
    cost: counted === null ? null : await costOf(db, batch, counted),
    error: batch.error,
  }
}

function knownAsked({ requested: { known, knownAt } }: BatchRow): BatchPreview['known'] {
  return known === undefined ? null : { days: known, at: knownAt ?? null }
}

async function costOf(
  db: Db,
  batch: BatchRow,
  { subjects, sampled }: Counted,
): Promise<BatchPreview['cost']> {
  const balance = (await readBalance(db, batch.account_id))?.available ?? 0
  const free = batch.mode === 'test'
  const parts: readonly CostPart[] = checksOf(batch.product).flatMap((part) => {
    const records = subjects[part]
    const price = free ? 0 : priceCredits(batch.product, [part])
    return records === 0 ? [] : [{ part, records, price, credits: records * price }]
  })
  const sum = parts.reduce((total, { credits }) => total + credits, 0)
  const credits = batch.credits_estimate - sampled
  return {
    parts: [...parts],
    cap_discount: sum - batch.credits_estimate,
    sampled,
    credits,
    balance,
    balance_after: balance - credits,
  }
}
