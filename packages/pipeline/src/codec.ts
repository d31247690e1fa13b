import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { BareOutcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { RowKind } from '@plumbline/contract/batch'
import type { Claim } from '@plumbline/intake/claims'

/** Subjects of one check in a chunk, each with the place of its row in the chunk. */
export interface CheckSubjects {
  readonly subjects: readonly string[]
  readonly places: readonly number[]
}

/** What a chunk asks, by check. */
export type ChunkSubjects = { readonly [C in Check]?: CheckSubjects }

/** The rows of a chunk as they came; what is rare is keyed by place in the chunk. */
export interface ChunkCells {
  /** Cells of each row; for JSON records the one JSON text. */
  readonly rows: readonly (readonly string[])[]
  readonly kinds: readonly RowKind[]
  /** For a duplicate the row number of its first occurrence. */
  readonly ofRow: Readonly<Record<string, number>>
  /** Subjects of rows that are not asked: of a duplicate the same ones, maybe in another writing; of a known one. */
  readonly asked: Readonly<Record<string, { readonly [C in Check]?: string | undefined }>>
  /** What another service said of a row, where the batch goes by that; also of those that are asked all the same. */
  readonly claims?: Readonly<Record<string, StoredClaim>>
  /** What is wrong with a row. */
  readonly errors: Readonly<Record<string, string>>
  /** The customer's reference of a row, where a `ref` column is mapped. */
  readonly refs: Readonly<Record<string, string>>
}

/** A verdict of another service, or the row (0-based) that has one and that this one repeats. */
export type StoredClaim = Claim | { readonly ofRow: number }

/** An outcome as a batch keeps it, or null if a fault of the service kept the subject from being answered. */
export type StoredOutcome<C extends Check = Check> = BareOutcome<C> | null

const LEVEL_ONE = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Packs a value as JSON under zstd level 1, as chunks hold it. */
export function pack(value: unknown): Buffer {
  return zstdCompressSync(JSON.stringify(value), LEVEL_ONE)
}

/**
 * Outcomes of a part as columns, one for each field: names are written once and like values stand together,
 * which takes a fraction of the text that an array of outcomes would.
 */
interface OutcomeColumns {
  /** Null throughout where a fault of the service kept the subject from being answered. */
  readonly fields: Columns & { readonly status: readonly unknown[] }
  readonly facts: Columns
  /** The few addresses that look like a slip: the domain that was meant, by place. */
  readonly suggested?: Readonly<Record<string, string>>
}

type Columns = Readonly<Record<string, readonly unknown[]>>

/** What results need of an outcome besides its facts, and what an explained one needs beyond that. */
const BARE_FIELDS = ['status', 'reason'] as const
const FIELDS = ['kind', ...BARE_FIELDS, 'evidence', 'cached', 'checkedAt', 'durationMs'] as const

const compress = promisify(zstdCompress)

/** Text that is packed in the time that another thread would take to be told of it. */
const AT_ONCE_BYTES = 262_144

/**
 * Packs the outcomes of a part without holding up the calls that the same process answers.
 * @param outcomes of one check, so that all have the same facts
 * @param explained whether how they are known is kept as well
 */
export async function packOutcomes(
  outcomes: readonly StoredOutcome[],
  explained: boolean,
): Promise<Buffer> {
  const facts = outcomes.map((outcome) => outcome?.facts ?? null)
  const names = Object.keys(facts.find((known) => known !== null) ?? {})
  const text =
    `{"fields":${await columnsInTurns(outcomes, explained ? FIELDS : BARE_FIELDS)},` +
    `"facts":${await columnsInTurns(facts, names)},"suggested":${JSON.stringify(suggestedIn(outcomes))}}`
  const bytes = Buffer.from(text)
  return bytes.length <= AT_ONCE_BYTES
    ? zstdCompressSync(bytes, LEVEL_ONE)
    : await compress(bytes, LEVEL_ONE)
}

/** The engine says it as evidence, which a batch that does not explain drops. */
function suggestedIn(outcomes: readonly StoredOutcome[]): Record<string, string> {
  const suggested: Record<string, string> = {}
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome === null) continue
    const evidence = fieldsOf(outcome)['evidence']
    if (typeof evidence !== 'object' || evidence === null) continue
    const domain = fieldsOf(evidence)['did_you_mean']
    if (typeof domain === 'string') suggested[at] = domain
  }
  return suggested
}

/** Columns as JSON, one for each turn of the event loop, so that no turn takes a millisecond. */
async function columnsInTurns(
  rows: readonly (object | null)[],
  names: readonly string[],
): Promise<string> {
  const members: string[] = []
  for (const name of names) {
    const column: unknown[] = []
    let isOneWord = true
    for (const row of rows) {
      const value = row === null ? null : fieldsOf(row)[name]
      isOneWord &&= value === column[0] || column.length === 0
      column.push(value)
    }
    members.push(`${JSON.stringify(name)}:${isOneWord ? repeated(column) : JSON.stringify(column)}`)
    await nextTurn()
  }
  return `{${members.join(',')}}`
}

/** The JSON of a column in which all are alike, as many are: it is written out once. */
function repeated(column: readonly unknown[]): string {
  const word = JSON.stringify(column.slice(0, 1)).slice(1, -1)
  return `[${`${word},`.repeat(column.length).slice(0, -1)}]`
}

/** Safe because it only reads: an absent field is undefined. */
function fieldsOf(row: object): Readonly<Record<string, unknown>> {
  return row as Readonly<Record<string, unknown>>
}

/** Unpacks subjects that `pack` made. */
export function unpackSubjects(bytes: Buffer): ChunkSubjects {
  return JSON.parse(textOf(bytes)) as ChunkSubjects
}

/** Unpacks cells that `pack` made. */
export function unpackCells(bytes: Buffer): ChunkCells {
  return JSON.parse(textOf(bytes)) as ChunkCells
}

/** Unpacks outcomes that `packOutcomes` made; explained ones are whole. */
export function unpackOutcomes(bytes: Buffer): readonly StoredOutcome[] {
  const { fields, facts, suggested = {} } = JSON.parse(textOf(bytes)) as OutcomeColumns
  const names = { fields: Object.keys(fields), facts: Object.keys(facts) }
  return fields.status.map((status, at) => {
    if (status === null) return null
    const outcome = rowAt(fields, names.fields, at)
    outcome['facts'] = rowAt(facts, names.facts, at)
    const domain = suggested[at]
    if (domain !== undefined) outcome['suggestedDomain'] = domain
    return outcome as unknown as BareOutcome
  })
}

/** What of outcomes is taken out. */
export interface OutcomeBlanks {
  /** Places in the part of outcomes that are blanked: what they say of whom goes, how they ended stays. */
  readonly places: ReadonlySet<number>
  /** What every other text is passed through. */
  readonly scrub: (text: string) => string
}

/** Facts that say the same of many: they stay of a blanked outcome, as do all that are yes, no or unknown. */
const OPEN_FACTS: ReadonlySet<string> = new Set(['mailbox', 'confidence', 'lineType', 'numberType'])

/** Facts that results show as a text whatever becomes of them. */
const NAMING_FACTS: Readonly<Record<Check, readonly string[]>> = {
  email: ['address', 'normalized'],
  phone: ['number'],
  ip: ['ip'],
  domain: ['domain'],
}

/** Takes values out of packed outcomes of a check; undefined if there is nothing to take. */
export function blankOutcomes(
  check: Check,
  bytes: Buffer,
  { places, scrub }: OutcomeBlanks,
): Buffer | undefined {
  const before = textOf(bytes)
  const { fields, facts, suggested = {} } = JSON.parse(before) as OutcomeColumns
  const blankFact = (name: string, value: unknown): unknown => {
    if (typeof value === 'boolean' || value === null || OPEN_FACTS.has(name)) return value
    if (name === 'signals') return bareSignals(value)
    return NAMING_FACTS[check].includes(name) ? '' : null
  }
  const blankField = (name: string, value: unknown): unknown => (name === 'evidence' ? {} : value)
  const columnsWithout = (columns: Columns, blank: typeof blankFact): Columns =>
    Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [
        name,
        column.map((value, at) =>
          // A place without an outcome has nothing to blank.
          places.has(at) && fields.status[at] !== null
            ? blank(name, value)
            : scrubJson(value, scrub),
        ),
      ]),
    )
  const after = JSON.stringify({
    fields: columnsWithout(fields, blankField),
    facts: columnsWithout(facts, blankFact),
    suggested: Object.fromEntries(
      Object.entries(suggested).filter(
        ([at, domain]) => !places.has(Number(at)) && scrub(domain) === domain,
      ),
    ),
  })
  return after === before ? undefined : zstdCompressSync(after, LEVEL_ONE)
}

/** Signals without what they quote: their codes are what is weighed. */
function bareSignals(signals: unknown): unknown {
  if (!Array.isArray(signals)) return signals
  return signals.map((signal: object) => {
    const { group, code, value } = fieldsOf(signal)
    return typeof value === 'number' || typeof value === 'boolean'
      ? { group, code, value }
      : { group, code }
  })
}

/** A JSON value with each of its texts, and keys, passed through; the same one where that changes nothing. */
export function scrubJson(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'number') {
    // People write numbers of phones as numbers.
    const text = String(value)
    return Number.isSafeInteger(value) && scrub(text) !== text ? '' : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const scrubbed = value.map((item: unknown) => scrubJson(item, scrub))
    return scrubbed.some((item, at) => item !== value[at]) ? scrubbed : value
  }
  let isChanged = false
  const members = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const member = [scrub(key), scrubJson(item, scrub)] as const
    isChanged ||= member[0] !== key || member[1] !== item
    return member
  })
  return isChanged ? Object.fromEntries(members) : value
}

function rowAt(columns: Columns, names: readonly string[], at: number): Record<string, unknown> {
  // A copy has every name from the start; a row that grows name by name takes twice as long.
  const row: Record<string, unknown> = { ...columns }
  for (const name of names) row[name] = columns[name]?.[at]
  return row
}

// The casts above are safe because only this file packs what these columns hold; a reader of
// another version comes with a migration.
function textOf(bytes: Buffer): string {
  return zstdDecompressSync(bytes).toString()
}
