import type { Product } from '@plumbline/contract/products'
import type { KeyMode } from '@plumbline/contract/plans'
import type { Scorer } from '@plumbline/contract/score'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { Tx } from '@plumbline/db/database'
import { settle } from '@plumbline/metering/hold'
import { partsOfChunk, readSubjects } from '@plumbline/db/batches/chunks'
import { prepaidOf } from '@plumbline/db/batches/samples'
import { markSettled, type Prepaid } from '@plumbline/db/batches/settle'
import { unpackSubjects, type ChunkSubjects } from './codec.ts'
import {
  chargedCredits,
  recordsOfCanceled,
  recordsOfChunk,
  verdictCounts,
  type CheckedRecord,
  type OutcomePart,
} from './record.ts'

/** A chunk that is not settled. */
export interface UnsettledChunk {
  readonly batchId: string
  readonly no: number
  readonly accountId: string
  readonly mode: KeyMode
  readonly product: Product
  readonly chargeUnknown: boolean
  /** With the weights of the batch. */
  readonly scorer: Scorer
  readonly subjects: ChunkSubjects
  /** The part if the chunk has only one; undefined: all parts are read. */
  readonly onlyPart?: OutcomePart | undefined
  /** What a sample has paid for the chunk; if left out, it is read. */
  readonly prepaid?: Prepaid
}

/** A chunk of a batch whose parts are read. */
export function chunkOfBatch(
  batch: BatchRow,
  chunk: Pick<UnsettledChunk, 'no' | 'scorer' | 'subjects'>,
): UnsettledChunk {
  return {
    ...chunk,
    batchId: batch.id,
    accountId: batch.account_id,
    mode: batch.mode,
    product: batch.product,
    chargeUnknown: batch.charge_unknown,
  }
}

/**
 * Charges a complete chunk and counts its verdicts, in the transaction that stored its last
 * outcome.
 *
 * @returns credits charged
 */
export async function settleChunk(tx: Tx, chunk: UnsettledChunk): Promise<number> {
  const parts = chunk.onlyPart === undefined ? await partsOfChunk(tx, chunk) : [chunk.onlyPart]
  const records = await knowingErased(tx, chunk, (subjects) => recordsOfChunk(subjects, parts))
  return await settleRecords(tx, chunk, records, null)
}

/**
 * Charges the known outcomes of a chunk that a cancel left incomplete, part by part and at most the
 * product's price. Verdicts are counted for complete records only.
 *
 * @returns credits charged
 */
export async function settleCanceledChunk(tx: Tx, chunk: UnsettledChunk): Promise<number> {
  const parts = await partsOfChunk(tx, chunk)
  const records = await knowingErased(tx, chunk, (subjects) => recordsOfCanceled(subjects, parts))
  const whole = [...records.values()].filter((record) => record.canceled !== true)
  return await settleRecords(tx, chunk, records, whole.length)
}

/**
 * The records of a chunk. They are made again from its present subjects if one has failed: whether
 * its subject was erased decides about the charge, and the caller may have read it before that.
 */
async function knowingErased<R extends ReadonlyMap<number, CheckedRecord>>(
  tx: Tx,
  chunk: UnsettledChunk,
  make: (subjects: ChunkSubjects) => R,
): Promise<R> {
  const records = make(chunk.subjects)
  if (!records.values().some(({ failed }) => failed)) return records
  const packed = await readSubjects(tx, chunk)
  return packed === undefined ? records : make(unpackSubjects(packed))
}

async function settleRecords(
  tx: Tx,
  chunk: UnsettledChunk,
  records: ReadonlyMap<number, CheckedRecord>,
  doneCount: number | null,
): Promise<number> {
  const verdicts = verdictCounts(chunk.product, records.values(), chunk.scorer)
  let charged = 0
  let chargedRecords = 0
  for (const record of records.values()) {
    const credits = chargedCredits(chunk.product, record, chunk.chargeUnknown)
    charged += credits
    if (credits > 0) chargedRecords += 1
  }
  if (chunk.mode === 'test') charged = 0
  const prepaid = chunk.prepaid ?? (await prepaidOf(tx, chunk))
  // Credits that a sample has paid stay paid, even if a fault of the service has since prevented
  // another part of the record.
  charged = Math.max(charged, prepaid.credits)
  await markSettled(tx, { batchId: chunk.batchId, no: chunk.no }, { charged, verdicts, doneCount })
  // Last, as all chunks of a batch wait for the lock of its hold from here to the commit.
  if (charged > prepaid.credits) {
    await settle(tx, {
      accountId: chunk.accountId,
      ref: chunk.batchId,
      opKey: `${chunk.batchId}:chunk:${chunk.no}`,
      credits: charged - prepaid.credits,
      // A record that a sample has paid for in part is counted already.
      records: Math.max(0, chargedRecords - prepaid.records),
    })
  }
  return charged - prepaid.credits
}
