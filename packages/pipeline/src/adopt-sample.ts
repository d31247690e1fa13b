import type { BareOutcomes } from '@plumbline/contract/score'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { hasErased } from '@plumbline/db/batches/blank'
import { lockBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import {
  lockSampledChunk,
  storeSampledParts,
  type SampledPart,
} from '@plumbline/db/batches/samples'
import { partsOfChunk, readSubjects } from '@plumbline/db/batches/chunks'
import type { Tx } from '@plumbline/db/database'
import { blankLateOutcomes } from './blank-late.ts'
import { packOutcomes, unpackSubjects, type ChunkSubjects, type StoredOutcome } from './codec.ts'
import { countAnsweredRows } from './answered-rows.ts'
import type { Pipeline } from './pipeline.ts'
import { chargedCredits, recordsOfCanceled, type CheckedRecord } from './record.ts'
import { chunkOfBatch, settleChunk } from './settle.ts'

/** A row of a sample with its outcomes. */
interface SampledRow {
  readonly place: number
  readonly record: CheckedRecord
}

/**
 * Copies the outcomes of a sample, and the credits it has paid, into its batch, in the transaction
 * that ends the sample. Rows that a fault of the service prevented are checked again. If the batch
 * was changed since, the charge is noted and the outcomes are dropped. The caller has locked the
 * batch before the sample.
 */
export async function adoptSample(tx: Tx, pipeline: Pipeline, sample: BatchRow): Promise<void> {
  const batch = sample.sample_of === null ? undefined : await lockBatch(tx, sample.sample_of)
  if (batch === undefined) return
  const takes = batch.status === 'ready' || batch.status === 'canceling'
  if (batch.sample_id !== sample.id || !takes) {
    const used = (await sumsOfBatch(tx, sample.id))?.creditsUsed ?? 0
    await updateBatch(tx, batch.id, { credits_voided: batch.credits_voided + used })
    return
  }
  const packed = await readSubjects(tx, { batchId: sample.id, no: 0 })
  if (packed === undefined) return
  const parts = await partsOfChunk(tx, { batchId: sample.id, no: 0 })
  const records = recordsOfCanceled(unpackSubjects(packed), parts)
  // A row that a fault of the service prevented is not charged, so nothing of it is known to the
  // batch: a cancel before the start would charge the known parts without a hold.
  const rows = [...records].flatMap(([at, record]) => {
    const from = sample.sample_places?.[at]
    return from === undefined || record.failed ? [] : [{ from, record }]
  })
  const byChunk = Map.groupBy(rows, ({ from }) => from.chunkNo)
  for (const [no, known] of [...byChunk].toSorted(([a], [b]) => a - b)) {
    const sampled = known.map(({ from, record }) => ({ place: from.place, record }))
    await adoptRows(tx, pipeline, { batch, no }, sampled)
  }
}

async function adoptRows(
  tx: Tx,
  pipeline: Pipeline,
  { batch, no }: { batch: BatchRow; no: number },
  rows: readonly SampledRow[],
): Promise<void> {
  const chunk = { batchId: batch.id, no }
  const locked = await lockSampledChunk(tx, batch.id, no)
  if (locked === undefined) return
  const subjects = unpackSubjects(locked.subjects)
  const parts: SampledPart[] = []
  for (const check of CHECKS) {
    const part = await partOf(check, subjects, rows, batch.explain)
    if (part !== undefined) parts.push(part)
  }
  const charges = rows.map(({ record }) =>
    batch.mode === 'test' ? 0 : chargedCredits(batch.product, record, batch.charge_unknown),
  )
  const remaining = await storeSampledParts(tx, chunk, parts, {
    credits: charges.reduce((sum, credits) => sum + credits, 0),
    records: charges.filter((credits) => credits > 0).length,
  })
  // A value of the batch may have been erased since the sample was checked.
  if (await hasErased(tx, batch.id, no)) await blankLateOutcomes(tx, chunk)
  const scorer = await pipeline.scorers.of(batch.weights)
  const unsettled = chunkOfBatch(batch, { no, scorer, subjects })
  if (remaining > 0) await countAnsweredRows(tx, unsettled, null)
  else await settleChunk(tx, unsettled)
}

/** Outcomes of one check; subjects without one are checked again. */
async function partOf(
  check: Check,
  subjects: ChunkSubjects,
  rows: readonly SampledRow[],
  explained: boolean,
): Promise<SampledPart | undefined> {
  const places = subjects[check]?.places ?? []
  const indexes: number[] = []
  const outcomes: StoredOutcome[] = []
  for (const { place, record } of rows) {
    const outcome = record.outcomes[check]
    const at = places.indexOf(place)
    if (outcome === undefined || at === -1) continue
    indexes.push(at)
    outcomes.push(asStored(outcome))
  }
  if (indexes.length === 0) return undefined
  return { check, indexes, outcomes: await packOutcomes(outcomes, explained) }
}

/**
 * Safe because an outcome of any check is stored alike; only the union of all is not one of its
 * parts.
 */
function asStored(outcome: NonNullable<BareOutcomes[Check]>): StoredOutcome {
  return outcome as StoredOutcome
}
