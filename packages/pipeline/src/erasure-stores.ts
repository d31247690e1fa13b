import type { ErasureCounts } from '@plumbline/contract/erasure'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import type { ErasureRow } from '@plumbline/db/erasures'
import { eraseAnswer, pageOfAnswers } from '@plumbline/db/idempotency'
import { blankDelivery, pageOfOwnDeliveries } from '@plumbline/db/webhooks/deliveries'
import type { Memory } from '@plumbline/ports/memory'
import { answerName } from './answer-name.ts'
import { scrubJson } from './codec.ts'
import { normalValue, type ErasureTarget, type ValueFinder } from './erased-values.ts'
import { modesOf } from './erasure-place.ts'
import type { Pipeline } from './pipeline.ts'

/** Rows that one step looks through. */
const ROWS_A_STEP = 200

/** Values of which one step forgets what is remembered. */
const VALUES_A_STEP = 500

/** What is remembered of subjects, and under which names. */
export interface FactStores {
  readonly memory: Memory
  readonly durable: Memory
  /** Names of what may be remembered of a subject for an account, in `memory` and `durable`. */
  readonly namesOf: (check: Check, subject: string, accountId: string) => FactNames
}

/** Names of facts about a subject. */
export interface FactNames {
  readonly memory: readonly string[]
  readonly durable: readonly string[]
}

interface Search {
  readonly pipeline: Pick<Pipeline, 'db' | 'installationKey'>
  readonly row: ErasureRow
  readonly finder: ValueFinder
}

/** Notes how far a search is and what it erased, and says where it goes on. */
type NotePage<P> = (tx: Tx, after: readonly string[], count: number) => Promise<P>

/** Empties the next kept answers that show a value, by a page of all; undefined after the last. */
export async function emptyAnswers<P>(
  { pipeline, row, finder }: Search,
  after: readonly string[] | null,
  note: NotePage<P>,
): Promise<P | undefined> {
  const owner = { accountId: row.account_id, modes: modesOf(row.mode) }
  const page = await pageOfAnswers(pipeline.db, owner, after, ROWS_A_STEP)
  const last = page.at(-1)
  if (last === undefined) return undefined
  const shown = page.filter((answer) => {
    if (answer.body === null || answer.body === '') return false
    const body = pipeline.installationKey.decrypt(answer.body, answerName(answer))
    return body !== undefined && finds(finder, body)
  })
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    let count = 0
    for (const answer of shown) count += await eraseAnswer(tx, answer)
    return await note(tx, [last.mode, last.path, last.key], count)
  })
}

function finds({ scrub }: ValueFinder, json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return scrubJson(value, scrub) !== value
  } catch {
    return scrub(json) !== json
  }
}

/** Takes values out of the next messages to webhooks, by a page of all; undefined after the last. */
export async function blankDeliveries<P>(
  { pipeline, row, finder: { scrub } }: Search,
  after: readonly string[] | null,
  note: NotePage<P>,
): Promise<P | undefined> {
  const owner = { accountId: row.account_id, mode: row.mode }
  const page = await pageOfOwnDeliveries(pipeline.db, owner, after?.[0] ?? '', ROWS_A_STEP)
  const last = page.at(-1)
  if (last === undefined) return undefined
  const changed = page.flatMap(({ id, body, response_body: response, error }) => {
    const kept = {
      body: scrubText(body, scrub),
      responseBody: response === null ? null : scrubText(response, scrub),
      error: error === null ? null : scrub(error),
    }
    const isSame = kept.body === body && kept.responseBody === response && kept.error === error
    return isSame ? [] : [{ id, ...kept }]
  })
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    for (const delivery of changed) await blankDelivery(tx, delivery)
    return await note(tx, [last.id], changed.length)
  })
}

function scrubText(text: string, scrub: (text: string) => string): string {
  try {
    const value: unknown = JSON.parse(text)
    const scrubbed = scrubJson(value, scrub)
    return scrubbed === value ? text : JSON.stringify(scrubbed)
  } catch {
    return scrub(text)
  }
}

/** Facts by their store. */
export type FactCounts = Pick<ErasureCounts, 'facts' | 'purchases'>

/** A subject as it was asked, of which facts may be remembered. */
export interface AskedSubject {
  readonly check: Check
  readonly subject: string
}

/**
 * Forgets what is remembered of subjects; returns how many facts there were. Nothing is for test keys.
 * @param announce told how many there are before the first is gone, which no transaction undoes
 */
export async function forgetFacts(
  stores: FactStores,
  row: ErasureRow,
  subjects: readonly AskedSubject[],
  announce: (found: FactCounts) => Promise<FactCounts>,
): Promise<FactCounts> {
  if (row.mode === 'test' || subjects.length === 0) return { facts: 0, purchases: 0 }
  const names = subjects.map(({ check, subject }) => stores.namesOf(check, subject, row.account_id))
  const facts = await heldOf(
    stores.memory,
    names.flatMap(({ memory }) => memory),
  )
  const purchases = await heldOf(
    stores.durable,
    names.flatMap(({ durable }) => durable),
  )
  const counts = await announce({ facts: facts.length, purchases: purchases.length })
  await forget(stores.memory, facts)
  await forget(stores.durable, purchases)
  return counts
}

async function heldOf(memory: Memory, names: readonly string[]): Promise<readonly string[]> {
  const held: string[] = []
  for (const page of pagesOf([...new Set(names)])) {
    const values = await memory.get(page)
    held.push(...page.filter((_, at) => values[at] !== undefined))
  }
  return held
}

async function forget(memory: Memory, names: readonly string[]): Promise<void> {
  for (const page of pagesOf(names)) await memory.delete(page)
}

function pagesOf(names: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(names.length / VALUES_A_STEP)
  return Array.from({ length: count }, (_, at) =>
    names.slice(at * VALUES_A_STEP, (at + 1) * VALUES_A_STEP),
  )
}

/** The next values of an erasure, as they were sent and in normal form, and behind which one they end. */
export function nextValues(
  { values }: ErasureTarget,
  from: number,
): { readonly next: number; readonly subjects: readonly AskedSubject[] } {
  const all = CHECKS.flatMap((check) => values[check].map((value) => ({ check, value })))
  const page = all.slice(from, from + VALUES_A_STEP)
  const subjects = page.flatMap(({ check, value }) => {
    const normal = normalValue(check, value)
    return [value, check === 'phone' ? `+${normal}` : normal].map((subject) => ({ check, subject }))
  })
  return { next: from + page.length, subjects }
}
