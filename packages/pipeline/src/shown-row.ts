import {
  adviceOf,
  recommendByScore,
  recommendEmail,
  type Recommendation,
} from '@plumbline/contract/advice'
import type { RowKind } from '@plumbline/contract/batch'
import { whyWaiting } from '@plumbline/contract/waiting'
import type { ResultOf } from '@plumbline/contract/results'
import type { BareOutcomes, Scorer } from '@plumbline/contract/score'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { assembleKnown, assembleResult, type PartialResult } from './assemble.ts'
import { ERASED_NOTE } from './erased-row.ts'
import { chargedCredits, isPartial, type CheckedRecord } from './record.ts'

/** The status of a row in results. */
export type RowStatus = 'done' | 'known' | 'refused' | 'blank' | 'waiting' | 'canceled' | 'error'

/** Why and until when a row waits. */
export interface Wait {
  readonly reason: string | null
  readonly until: Date
}

/** Values of a row that results show besides its cells, in any format. */
export interface ShownRow {
  /** 0-based. */
  readonly row: number
  readonly status: RowStatus
  /** Its outcomes; for a canceled row those that are known. */
  readonly record: CheckedRecord | undefined
  /** Null if no outcome of the row is known, or a fault of the service prevented one. */
  readonly result: ResultOf | PartialResult | null
  /** For complete rows of products that give advice. */
  readonly recommendation: Recommendation | null
  /** The verdict that the batch counts for it; null if there is none. */
  readonly verdict: string | null
  readonly charged: number
  /** The error of the row; empty if there is none. */
  readonly error: string
}

/** Error of a record whose outcome a fault of the service prevented. */
const FAILED_RECORD =
  'This record could not be answered because of a fault of the service; it was not charged.'

/** Error of a record that was not answered before its batch was canceled (decision 32). */
const CANCELED_RECORD = 'canceled: the batch was canceled before this record was answered'

/**
 * The status of a row, from its kind and its outcomes.
 *
 * @param isOpen whether more outcomes may come: its batch is running
 */
export function statusOf(
  kind: RowKind,
  record: CheckedRecord | undefined,
  isOpen: boolean,
): RowStatus {
  switch (kind) {
    case 'blank':
    case 'refused':
    case 'known':
      return kind
    case 'billable':
    case 'duplicate':
      if (record === undefined || record.canceled === true) return isOpen ? 'waiting' : 'canceled'
      return record.failed || record.erased !== undefined ? 'error' : 'done'
  }
}

/** The error of a row, besides faults of its cells. */
export function errorOf(
  status: RowStatus,
  fault: string | undefined,
  wait: Wait | undefined,
): string {
  switch (status) {
    case 'waiting':
      return fault === undefined ? waitingFor(wait) : `${waitingFor(wait)}; ${fault}`
    case 'error':
      // A value that was erased before its check is no fault of the service.
      return fault?.startsWith(ERASED_NOTE) === true ? fault : FAILED_RECORD
    case 'canceled':
      return fault === undefined ? CANCELED_RECORD : `${CANCELED_RECORD}; ${fault}`
    case 'done':
    case 'known':
    case 'refused':
    case 'blank':
      return fault ?? ''
  }
}

function waitingFor(wait: Wait | undefined): string {
  if (wait === undefined) return `waiting: ${whyWaiting(null)}`
  return `waiting: ${whyWaiting(wait.reason)}, not before ${wait.until.toISOString()}`
}

/** The result of a record: its known part if it is partial, null if it failed. */
export function resultOf(
  batch: BatchRow,
  status: RowStatus,
  record: CheckedRecord | undefined,
  scorer: Scorer,
): ResultOf | PartialResult | null {
  if (record === undefined || record.failed || status === 'waiting') return null
  if (Object.keys(record.outcomes).length === 0) return null
  return isPartial(record)
    ? assembleKnown(batch.product, record.outcomes, scorer)
    : assembleResult(batch.product, record.outcomes, scorer)
}

/** The advice for a row; null if it is incomplete, or its product gives none. */
export function recommendationOf(
  batch: BatchRow,
  status: RowStatus,
  record: CheckedRecord | undefined,
  scorer: Scorer,
): Recommendation | null {
  if (status !== 'done' || record === undefined) return null
  return adviceOf(batch.product).length === 0 ? null : recommend(batch, record.outcomes, scorer)
}

function recommend(batch: BatchRow, outcomes: BareOutcomes, scorer: Scorer): Recommendation | null {
  if (batch.product === 'fraud-signals') {
    return recommendByScore(scorer.fraud(outcomes), outcomes.email)
  }
  return outcomes.email === undefined ? null : recommendEmail(outcomes.email)
}

/** Credits charged for a row; `record` is its own, not that of the row it duplicates. */
export function chargedFor(batch: BatchRow, record: CheckedRecord | undefined): number {
  if (record === undefined || batch.mode === 'test') return 0
  // Its outcomes were paid for in the batch that it was copied from.
  if (batch.origin_kind === 'rescore') return 0
  return chargedCredits(batch.product, record, batch.charge_unknown)
}
