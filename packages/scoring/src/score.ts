import type { Signal } from '@plumbline/contract/outcome'
import { checksGiven } from '@plumbline/contract/products'
import type { BareOutcomes, Score, Scorer, ScoreReason, Weights } from '@plumbline/contract/score'
import { gatherEvidence, type Evidence } from './evidence.ts'

/**
 * The risk of one subject, 0 to 100: 100 x (1 - product over groups of (1 - strongest weight)).
 * Independent of the order of the signals; another signal never lowers it. A signal that the table
 * lacks weighs nothing: it comes from a program of another version than the table. Source: decision
 * 30.
 */
export function riskOf(signals: readonly Signal[], weights: Weights): number {
  const strongest = new Map<string, number>()
  for (const signal of signals) {
    const weight = weightOf(signal, weights)
    if (weight > (strongest.get(signal.group) ?? 0)) strongest.set(signal.group, weight)
  }
  return scoreOf([...strongest])
}

/** All score functions with these weights. */
export function createScorer(weights: Weights): Scorer {
  return {
    version: weights.version,
    fraud: (outcomes) => fraudScore(outcomes, weights),
    risk: (signals) => riskOf(signals, weights),
  }
}

/** The composite score of a record, with reasons that add up to it. */
function fraudScore(outcomes: BareOutcomes, weights: Weights): Score {
  const weighed = gatherEvidence(outcomes)
    .map((evidence) => ({ ...evidence, weight: weightOf(evidence.signal, weights) }))
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight || compareNames(a, b))
  const strongest = new Map<string, Weighed>()
  for (const evidence of weighed) {
    if (!strongest.has(evidence.group)) strongest.set(evidence.group, evidence)
  }
  const factors = [...strongest].map(([group, { weight }]) => [group, weight] as const)
  const score = scoreOf(factors)
  const shares = shareOut(score, factors)
  const reasons = weighed.map((evidence) => {
    const counts = strongest.get(evidence.group) === evidence
    return reasonOf(evidence, counts ? (shares.get(evidence.group) ?? 0) : 0)
  })
  return {
    score,
    // The sort is stable: equal contributions stay in the order of their weights.
    reasons: reasons.toSorted((a, b) => b.contribution - a.contribution),
    coverage: coverageOf(outcomes),
    modelVersion: weights.version,
  }
}

type Weighed = Evidence & { readonly weight: number }

function reasonOf({ part, signal, weight }: Weighed, contribution: number): ScoreReason {
  return {
    code: signal.code,
    part,
    weight,
    contribution,
    ...(signal.value === undefined ? {} : { value: signal.value }),
    ...(signal.source === undefined ? {} : { source: signal.source }),
  }
}

/**
 * Factors are multiplied in the order of their groups, so that rounding does not depend on the
 * order of the signals.
 */
function scoreOf(factors: readonly (readonly [string, number])[]): number {
  let harmless = 1
  for (const [, weight] of factors.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    harmless *= 1 - weight / 100
  }
  return Math.round(100 * (1 - harmless))
}

/**
 * Distributes whole points over the groups in proportion to ln(1 - weight), by largest remainder,
 * so that they add up exactly.
 */
function shareOut(
  score: number,
  factors: readonly (readonly [string, number])[],
): ReadonlyMap<string, number> {
  const logs = factors.map(([group, weight]) => ({ group, log: -Math.log1p(-weight / 100) }))
  const total = logs.reduce((sum, { log }) => sum + log, 0)
  const exact = logs.map(({ group, log }) => ({ group, points: (score * log) / total }))
  const shares = new Map(exact.map(({ group, points }) => [group, Math.floor(points)]))
  let rest = score - [...shares.values()].reduce((sum, points) => sum + points, 0)
  const byRemainder = exact.toSorted(
    (a, b) => (b.points % 1) - (a.points % 1) || (a.group < b.group ? -1 : 1),
  )
  for (const { group } of byRemainder) {
    if (rest <= 0) break
    shares.set(group, (shares.get(group) ?? 0) + 1)
    rest -= 1
  }
  return shares
}

function weightOf({ group, code }: Signal, weights: Weights): number {
  const rows = Object.hasOwn(weights.groups, group) ? weights.groups[group] : undefined
  const row = rows !== undefined && Object.hasOwn(rows, code) ? rows[code] : undefined
  return row?.weight ?? 0
}

function compareNames(a: Evidence, b: Evidence): number {
  const left = `${a.part} ${a.signal.code}`
  const right = `${b.part} ${b.signal.code}`
  if (left === right) return 0
  return left < right ? -1 : 1
}

function coverageOf(outcomes: BareOutcomes): Score['coverage'] {
  const supplied = checksGiven(outcomes)
  return {
    supplied,
    resolved: supplied.filter((check) => outcomes[check]?.status !== 'unknown'),
    unknown: supplied.filter((check) => outcomes[check]?.status === 'unknown'),
  }
}
