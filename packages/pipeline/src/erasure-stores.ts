import type { ErasureCounts } from '@plumbline/contract/erasure'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import type { ErasureRow } from '@plumbline/db/erasures'
import { eraseResponse, pageOfResponses } from '@plumbline/db/idempotency'
import { blankDelivery } from '@plumbline/db/webhooks/deliveries'
import { pageOfOwnDeliveries } from '@plumbline/db/webhooks/own-deliveries'
import type { Memory } from '@plumbline/ports/memory'
import { normalValue } from './normal-value.ts'
import { storedResponseName } from './stored-response-name.ts'
import { scrubJson } from './scrub-json.ts'
import type { ErasureTarget, ValueFinder } from './erased-values.ts'
import { modesOf } from './erasure-progress.ts'
import type { Pipeline } from './pipeline.ts'

/** Maximum number of rows that one step searches. */
const ROWS_A_STEP = 200

/** Maximum number of values whose cached facts one step deletes. */
const VALUES_A_STEP = 500

/** Stores of facts about subjects, and the names of the facts. */
export interface FactStores {
  readonly memory: Memory
  readonly durable: Memory
  /**
   * Names of the facts that may be stored about a subject for an account, in `memory` and
   * `durable`.
   */
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

/**
 * Stores the position of a search and the number of erased values, and returns the new progress.
 */
type NotePage<P> = (tx: Tx, after: readonly string[], count: number) => Promise<P>

/** Empties the stored responses of the next page that show a value; undefined after the last. */
export async function emptyResponses<P>(
  { pipeline, row, finder: { scrub } }: Search,
  after: readonly string[] | null,
  note: NotePage<P>,
): Promise<P | undefined> {
  const owner = { accountId: row.account_id, modes: modesOf(row.mode) }
  const page = await pageOfResponses(pipeline.db, owner, after, ROWS_A_STEP)
  const last = page.at(-1)
  if (last === undefined) return undefined
  const shown = page.filter((answer) => {
    if (answer.body === null || answer.body === '') return false
    const body = pipeline.installationKey.decrypt(answer.body, storedResponseName(answer))
    return body !== undefined && scrubText(body, scrub) !== body
  })
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    let count = 0
    for (const answer of shown) count += await eraseResponse(tx, answer)
    return await note(tx, [last.mode, last.path, last.key], count)
  })
}

/** Removes values from the webhook messages of the next page; undefined after the last. */
export async function blankDeliveries<P>(
  { pipeline, row, finder: { scrub } }: Search,
  after: readonly string[] | null,
  note: NotePage<P>,
): Promise<P | undefined> {
  const owner = { accountId: row.account_id, mode: row.mode }
  if (after?.length === 0) return undefined
  const [, endpointId, createdAt, id] = after ?? []
  const place =
    endpointId === undefined || createdAt === undefined || id === undefined
      ? null
      : { endpointId, createdAt, id }
  const { rows, next } = await pageOfOwnDeliveries(pipeline.db, owner, place, ROWS_A_STEP)
  const changed = rows.flatMap(({ id, body, response_body: response, error }) => {
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
    // An earlier version reads a message's id first, and begins anew with an empty one, as is done
    // here with the place of such a version.
    const there = next === null ? [] : ['', next.endpointId, next.createdAt, next.id]
    return await note(tx, there, changed.length)
  })
}

/** A text without the values, also those within JSON; itself if it holds none. */
function scrubText(text: string, scrub: (text: string) => string): string {
  try {
    const value: unknown = JSON.parse(text)
    const scrubbed = scrubJson(value, scrub)
    return scrubbed === value ? text : JSON.stringify(scrubbed)
  } catch {
    return scrub(text)
  }
}

/** Deleted facts by store. */
export type FactCounts = Pick<ErasureCounts, 'facts' | 'purchases'>

/** A subject as it was checked, about which facts may be cached. */
export interface AskedSubject {
  readonly check: Check
  readonly subject: string
}

/**
 * Deletes cached facts about subjects; returns how many there were. Test keys have none.
 *
 * @param announce called with the number before the first is deleted, as no transaction covers the
 * deletion
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

/** The next values of an erasure, as sent and in normal form, with the position after them. */
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
