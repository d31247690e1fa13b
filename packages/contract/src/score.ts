import type { BareOutcome, Json, Outcome, Signal } from './outcome.ts'
import type { Check } from './products.ts'

/** One reason of a score; contributions add up to the score. */
export interface ScoreReason {
  readonly code: string
  readonly part: Check | 'across'
  readonly weight: number
  readonly contribution: number
  readonly value?: Json
  readonly source?: string
}

/** A composite score and its reasons. */
export interface Score {
  /** 0 to 100, higher is riskier. */
  readonly score: number
  readonly reasons: readonly ScoreReason[]
  readonly coverage: {
    readonly supplied: readonly Check[]
    readonly resolved: readonly Check[]
    readonly unknown: readonly Check[]
  }
  readonly modelVersion: string
}

/** The outcomes of one record, by check; those not asked are absent. */
export type Outcomes = { readonly [C in Check]?: Outcome<C> }

/** The outcomes of one record without their evidence. */
export type BareOutcomes = { readonly [C in Check]?: BareOutcome<C> }

/** The fraud score of a record: pure, order-free, monotone (decision 30). */
export type FraudScorer = (outcomes: BareOutcomes) => Score

/** A risk of 0 to 100 from signals of one subject: pure. */
export type RiskScorer = (signals: readonly Signal[]) => number

/** One row of a table of weights: the weight is the score if this were the only signal. */
export interface WeightRow {
  /** 0 to 99; 0 disables the signal. */
  readonly weight: number
  readonly reason: string
}

/** A table of weights: by group of signals, then by code. */
export interface Weights {
  /** Identifies the content: tables that differ in anything have different versions. */
  readonly version: string
  readonly groups: Readonly<Record<string, Readonly<Record<string, WeightRow>>>>
}

/** All score functions with one table of weights, so that scores shown together are consistent. */
export interface Scorer {
  /** Version of the table. */
  readonly version: string
  readonly fraud: FraudScorer
  readonly risk: RiskScorer
}
