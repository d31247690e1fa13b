import { SAMPLE, type BatchSample } from '@plumbline/contract/batch-sample'
import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import { checksOf } from '@plumbline/contract/products'
import { partsOfChunk, readSubjects } from '@plumbline/db/batches/chunks'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import type { Db, Tx } from '@plumbline/db/database'
import { unpackSubjects } from './codec.ts'
import { seedOf } from './draw-sample.ts'
import type { Pipeline } from './pipeline.ts'
import { recordsOfCanceled, verdictNames, verdictOf, type CheckedRecord } from './record.ts'

/** The results of a sample so far. */
export async function sampleViewOf(
  db: Db | Tx,
  { scorers }: Pick<Pipeline, 'scorers'>,
  batch: BatchRow,
  sample: BatchRow,
): Promise<BatchSample> {
  const packed = await readSubjects(db, { batchId: sample.id, no: 0 })
  const subjects = packed === undefined ? {} : unpackSubjects(packed)
  const parts = await partsOfChunk(db, { batchId: sample.id, no: 0 })
  const records = [...recordsOfCanceled(subjects, parts).values()].filter(
    (record) => record.canceled !== true,
  )
  const askedMs = sample.created_at.getTime()
  const endsMs = askedMs + SAMPLE.seconds * 1000
  const drawn = sample.rows_total
  // Not before its outcomes are copied to its batch, which may be started or deleted once it has
  // ended.
  const isRunning = UNFINISHED_STATES.includes(sample.status)
  const scorer = await scorers.of(sample.weights)
  const verdicts = records.map((record) => verdictIn(batch, record, scorer))
  const unknown = isRunning ? 0 : drawn - records.length
  const used = (await sumsOfBatch(db, sample.id))?.creditsUsed ?? 0
  return {
    batch_id: batch.id,
    status: isRunning ? 'running' : 'completed',
    seed: seedOf(batch.id),
    asked_at: sample.created_at.toISOString(),
    ends_at: new Date(endsMs).toISOString(),
    rows: { drawn, known: records.length },
    shares: sharesOf(namesOf(batch), [...verdicts, ...Array<string>(unknown).fill('unknown')]),
    credits_used: used,
    expected: isRunning ? null : expectedOf(batch, sample, used),
  }
}

/** Names of the counts of a sample: the verdicts of its product, else `answered`; and `unknown`. */
function namesOf({ product }: BatchRow): readonly string[] {
  const names = verdictNames(product)
  if (names.length === 0) return ['answered', 'unknown']
  return names.includes('unknown') ? names : [...names, 'unknown']
}

function verdictIn(
  { product }: BatchRow,
  record: CheckedRecord,
  scorer: Parameters<typeof verdictOf>[2],
): string {
  if (verdictNames(product).length > 0) return verdictOf(product, record, scorer) ?? 'unknown'
  const [required = 'email'] = checksOf(product)
  const outcome = record.outcomes[required]
  return outcome === undefined || outcome.status === 'unknown' ? 'unknown' : 'answered'
}

/** Two-sided 95 % of the normal distribution. */
const Z = 1.959964

/**
 * Counts and shares, each with its interval. Source: Wilson 1927, Brown et al. 2001 (section
 * 3.1.1).
 */
export function sharesOf(
  names: readonly string[],
  verdicts: readonly string[],
): BatchSample['shares'] {
  const n = verdicts.length
  return names.map((verdict) => {
    const count = verdicts.filter((each) => each === verdict).length
    if (n === 0) return { verdict, count: 0, share: 0, low: 0, high: 1 }
    const share = count / n
    const middle = (share + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
    const half =
      (Z / (1 + Z ** 2 / n)) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n * n))
    return {
      verdict,
      count,
      share: rounded(share),
      low: rounded(Math.max(0, middle - half)),
      high: rounded(Math.min(1, middle + half)),
    }
  })
}

function rounded(share: number): number {
  return Math.round(share * 10_000) / 10_000
}

/** Chunks processed in parallel if nothing slows them down. */
const SIDE_BY_SIDE = 16

/**
 * The expected cost and duration of the whole batch. The time is a rough estimate from the pace of
 * the sample, as if sixteen like it ran in parallel; limits of providers only show while the batch
 * runs.
 */
function expectedOf(batch: BatchRow, sample: BatchRow, used: number): BatchSample['expected'] {
  const { credits_estimate: estimate, charge_unknown: chargesUnknown } = batch
  const share = sample.credits_estimate === 0 ? 1 : used / sample.credits_estimate
  const ended = sample.ats.finalizing ?? sample.ats.canceling
  const tookMs =
    ended === undefined ? SAMPLE.seconds * 1000 : Date.parse(ended) - sample.created_at.getTime()
  const runs = Math.max(1, batch.rows_billable / Math.max(1, sample.rows_total) / SIDE_BY_SIDE)
  return {
    credits:
      chargesUnknown || used === 0 ? estimate : Math.min(estimate, Math.round(estimate * share)),
    seconds: Math.max(1, Math.ceil((tookMs / 1000) * runs)),
  }
}
