import type { BareOutcome, EmailStatus } from '@plumbline/contract/outcome'
import { CHECKS, priceCredits, type Check, type Product } from '@plumbline/contract/products'
import { riskLevel } from '@plumbline/contract/results'
import type { BareOutcomes, Scorer } from '@plumbline/contract/score'
import type { Part } from '@plumbline/db/batches/chunks'
import { unpackOutcomes, type ChunkSubjects, type StoredOutcome } from './codec.ts'
import { isErasedSubject } from './erased-row.ts'

/** A billable record with its outcomes. */
export interface CheckedRecord {
  /** With evidence if the batch explains. */
  readonly outcomes: BareOutcomes
  /** Whether a fault of the service prevented an outcome: an error, uncharged. */
  readonly failed: boolean
  /** Checks whose subject was erased before its outcome; the others stay, and are charged. */
  readonly erased?: readonly Check[]
  /** Whether a cancel prevented an outcome; the others stay. */
  readonly canceled?: boolean
}

interface NewRecord {
  outcomes: Record<string, BareOutcome>
  failed: boolean
  erased?: Check[]
}

/** Outcomes of a chunk and check. */
export interface OutcomePart {
  readonly check: Check
  readonly indexes: readonly number[] | null
  /** Packed as in a part, or not packed yet. */
  readonly outcomes: Buffer | readonly StoredOutcome[]
}

/** Verdicts that a batch of a product counts, in the order of `verdicts` in the chunk row. */
export function verdictNames(product: Product): readonly string[] {
  switch (product) {
    case 'email':
    case 'deliverability':
    case 'contact-intel':
      return EMAIL_VERDICTS
    case 'fraud-signals':
      return RISK_VERDICTS
    case 'phone':
    case 'ip':
    case 'domain':
      return []
  }
}

const EMAIL_VERDICTS: readonly EmailStatus[] = ['deliverable', 'undeliverable', 'risky', 'unknown']
const RISK_VERDICTS = ['low', 'medium', 'high'] as const

/** The records of a settled chunk by row position; every subject must have an outcome in a part. */
export function recordsOfChunk(
  subjects: ChunkSubjects,
  parts: readonly OutcomePart[],
): Map<number, CheckedRecord> {
  const records = new Map<number, NewRecord>()
  for (const part of parts) {
    const own = subjects[part.check]
    const outcomes = Buffer.isBuffer(part.outcomes) ? unpackOutcomes(part.outcomes) : part.outcomes
    for (const [at, outcome] of outcomes.entries()) {
      const index = part.indexes === null ? at : (part.indexes[at] ?? -1)
      const place = own?.places[index]
      if (place === undefined)
        throw new Error(`a part of ${part.check} has an outcome for an unknown subject`)
      const record = records.get(place) ?? { outcomes: {}, failed: false }
      records.set(place, record)
      if (outcome !== null) record.outcomes[part.check] = outcome
      else if (isErasedSubject(own?.subjects[index] ?? '')) (record.erased ??= []).push(part.check)
      else record.failed = true
    }
  }
  return records
}

/**
 * As `recordsOfChunk`, for a chunk that a cancel left without some outcomes: a record that lacks
 * one is marked as canceled, a record without any is left out.
 */
export function recordsOfCanceled(
  subjects: ChunkSubjects,
  parts: readonly OutcomePart[],
): Map<number, CheckedRecord> {
  const records: Map<number, CheckedRecord> = recordsOfChunk(subjects, parts)
  for (const check of CHECKS) {
    for (const place of subjects[check]?.places ?? []) {
      const record = records.get(place)
      if (record === undefined || record.failed || record.outcomes[check] !== undefined) continue
      if (record.erased?.includes(check) === true) continue
      records.set(place, { ...record, canceled: true })
    }
  }
  return records
}

/**
 * The records of a chunk by row position, as far as known; one that lacks an outcome is marked as
 * canceled.
 */
export function recordsOf(
  chunk: { readonly settled: boolean; readonly partly: boolean; readonly parts: readonly Part[] },
  subjects: ChunkSubjects,
): Map<number, CheckedRecord> {
  return chunk.partly || !chunk.settled
    ? recordsOfCanceled(subjects, chunk.parts)
    : recordsOfChunk(subjects, chunk.parts)
}

/**
 * The outcomes of a record for a duplicate that writes the same subjects differently (a domain in
 * capitals, a long form of an IPv6 address): results show a subject as its row wrote it.
 */
export function recordAsAsked(
  record: CheckedRecord,
  asked: { readonly [C in Check]?: string | undefined },
): CheckedRecord {
  const { email, phone, ip, domain } = record.outcomes
  const { email: address, ip: host, domain: name } = asked
  return {
    ...record,
    outcomes: {
      ...(email === undefined
        ? {}
        : { email: address === undefined ? email : emailAsAsked(email, address) }),
      ...(phone === undefined ? {} : { phone }),
      ...(ip === undefined ? {} : { ip: withFacts(ip, host === undefined ? {} : { ip: host }) }),
      ...(domain === undefined
        ? {}
        : { domain: withFacts(domain, name === undefined ? {} : { domain: name }) }),
    },
  }
}

function emailAsAsked(email: BareOutcome<'email'>, address: string): BareOutcome<'email'> {
  const { syntaxValid, domain } = email.facts
  if (syntaxValid) return withFacts(email, { address })
  // A value that cannot be parsed has only its own notation, of its domain part too.
  const own = domain === null ? null : address.slice(address.lastIndexOf('@') + 1)
  return withFacts(email, { address, normalized: address, domain: own })
}

function withFacts<C extends Check>(
  outcome: BareOutcome<C>,
  facts: Partial<BareOutcome<C>['facts']>,
): BareOutcome<C> {
  return { ...outcome, facts: { ...outcome.facts, ...facts } }
}

/** Whether a cancel or an erasure prevented an outcome of a record. */
export function isPartial({ canceled, erased }: CheckedRecord): boolean {
  return canceled === true || erased !== undefined
}

/**
 * Credits charged for a record: nothing for a fault of the service; unknown parts are free if so
 * configured. Source: decisions 3, 12 and 13.
 */
export function chargedCredits(
  product: Product,
  record: CheckedRecord,
  chargeUnknown: boolean,
): number {
  if (record.failed) return 0
  const charged = CHECKS.filter((check) => {
    const outcome = record.outcomes[check]
    return outcome !== undefined && (chargeUnknown || outcome.status !== 'unknown')
  })
  return priceCredits(product, charged)
}

/** How many records have each verdict, in the order of `verdictNames`. */
export function verdictCounts(
  product: Product,
  records: Iterable<CheckedRecord>,
  scorer: Scorer,
): readonly number[] {
  const names = verdictNames(product)
  const counts = names.map(() => 0)
  for (const record of records) {
    const place = names.indexOf(verdictOf(product, record, scorer) ?? '')
    if (place >= 0) counts[place] = (counts[place] ?? 0) + 1
  }
  return counts
}

/** The verdict of a record; undefined if there is none. */
export function verdictOf(
  product: Product,
  record: CheckedRecord,
  scorer: Scorer,
): string | undefined {
  if (record.failed || isPartial(record)) return undefined
  if (product === 'fraud-signals') return riskLevel(scorer.fraud(record.outcomes).score)
  return verdictNames(product).length === 0 ? undefined : record.outcomes.email?.status
}
