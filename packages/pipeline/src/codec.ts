import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { createTurns } from '@plumbline/concurrency/event-loop-turns'
import type { BareOutcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { RowKind } from '@plumbline/contract/batch'
import type { Claim } from '@plumbline/intake/claims'
import { columnsOf, storedColumn, type Columns, type StoredColumns } from './outcome-columns.ts'

/** Subjects of one check in a chunk, each with the position of its row in the chunk. */
export interface CheckSubjects {
  readonly subjects: readonly string[]
  readonly places: readonly number[]
}

/** The subjects of a chunk, by check. */
export type ChunkSubjects = { readonly [C in Check]?: CheckSubjects }

/**
 * The unchanged cells of the rows of a chunk; rare properties are keyed by the row's position in
 * the chunk.
 */
export interface ChunkCells {
  /** Cells of each row; of a JSON record its text. */
  readonly rows: readonly (readonly string[])[]
  readonly kinds: readonly RowKind[]
  /** For a duplicate, the row number of its first occurrence. */
  readonly ofRow: Readonly<Record<string, number>>
  /**
   * Subjects of rows that are not checked themselves: duplicates, which may write them differently,
   * and known rows.
   */
  readonly uncheckedSubjects: Readonly<
    Record<string, { readonly [C in Check]?: string | undefined }>
  >
  /**
   * Verdicts of another service, for batches that accept them; also of rows that are checked
   * nevertheless.
   */
  readonly claims?: Readonly<Record<string, StoredClaim>>
  /** The error of a row. */
  readonly errors: Readonly<Record<string, string>>
  /** The customer's reference of a row, where a `ref` column is mapped. */
  readonly refs: Readonly<Record<string, string>>
}

/** Cells as they are stored; their field `asked` has the unchecked subjects. */
type StoredCells = Omit<ChunkCells, 'uncheckedSubjects'> & {
  readonly asked: ChunkCells['uncheckedSubjects']
}

/** A verdict of another service, or the 0-based row whose verdict this duplicate shares. */
export type StoredClaim = Claim | { readonly ofRow: number }

/** An outcome as a batch stores it; null if a fault of the service prevented it. */
export type StoredOutcome<C extends Check = Check> = BareOutcome<C> | null

const LEVEL_ONE = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Packs a value as JSON under zstd level 1, as chunks hold it. */
export function pack(value: unknown): Buffer {
  return zstdCompressSync(JSON.stringify(value), LEVEL_ONE)
}

/** Packs the cells of a chunk. */
export function packCells({ uncheckedSubjects: asked, ...cells }: ChunkCells): Buffer {
  return pack({ ...cells, asked } satisfies StoredCells)
}

/**
 * Outcomes of a part by column: names are written once and similar values are next to each other, so
 * that they compress to a fraction of an array of objects.
 */
export interface OutcomeColumns<C> {
  readonly count: number
  /** All null for a subject whose outcome a fault of the service prevented. */
  readonly fields: C
  readonly facts: C
  /**
   * For the few addresses that look like typing errors: the domain that was probably meant, by
   * position.
   */
  readonly suggested: Readonly<Record<string, string>>
}

/** As stored by version 0.1.0: all columns are complete and not counted. */
type StoredOutcomes = Pick<OutcomeColumns<StoredColumns>, 'fields' | 'facts'> &
  Partial<OutcomeColumns<StoredColumns>>

/**
 * Fields of an outcome that results need besides its facts, and those that explained results need
 * as well.
 */
const BARE_FIELDS = ['status', 'reason'] as const
const FIELDS = ['kind', ...BARE_FIELDS, 'evidence', 'cached', 'checkedAt', 'durationMs'] as const

const compress = promisify(zstdCompress)

/** Bytes of text up to which compressing here is faster than in another thread. */
const AT_ONCE_BYTES = 262_144

/**
 * Packs the outcomes of a part without blocking the event loop.
 *
 * @param outcomes of one check, so that all have the same facts
 * @param explained whether evidence is stored as well
 */
export async function packOutcomes(
  outcomes: readonly StoredOutcome[],
  explained: boolean,
): Promise<Buffer> {
  await nextTurn()
  const facts = outcomes.map((outcome) => outcome?.facts ?? null)
  const names = Object.keys(facts.find((known) => known !== null) ?? {})
  const bytes = utf8Of([
    `{"count":${outcomes.length},"fields":`,
    ...(await columnsInTurns(outcomes, explained ? FIELDS : BARE_FIELDS)),
    ',"facts":',
    ...(await columnsInTurns(facts, names)),
    ',"suggested":',
    JSON.stringify(suggestedIn(outcomes)),
    '}',
  ])
  await nextTurn()
  return bytes.length <= AT_ONCE_BYTES
    ? zstdCompressSync(bytes, LEVEL_ONE)
    : await compress(bytes, LEVEL_ONE)
}

/** Maximum number of UTF-8 bytes per character of a string. */
const UTF8_BYTES = 3

/**
 * Texts as one block of bytes: joining them as a string first would take twice as much memory
 * again.
 */
function utf8Of(texts: readonly string[]): Buffer {
  const chars = texts.reduce((sum, { length }) => sum + length, 0)
  const bytes = Buffer.allocUnsafe(chars * UTF8_BYTES)
  let at = 0
  for (const text of texts) at += bytes.write(text, at)
  return bytes.subarray(0, at)
}

/**
 * The suggestions of outcomes: engines report them as evidence, which is not stored for a batch
 * that does not explain.
 */
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

/** Milliseconds for which columns are written before other work of the process has a turn. */
const TURN_MS = 0.5

/**
 * Shared, so that tasks of a worker that end at the same moment do not block it one right after the
 * other.
 */
const nextTurn = createTurns(1)

/**
 * Columns as texts that together are one JSON object, written in several turns of the event loop,
 * each shorter than a millisecond.
 */
async function columnsInTurns(
  rows: readonly (object | null)[],
  names: readonly string[],
): Promise<readonly string[]> {
  const texts: string[] = []
  let first: Parameters<typeof storedColumn>[1]
  let turnMs = performance.now()
  for (const name of names) {
    const values = rows.map((row) => (row === null ? null : (fieldsOf(row)[name] ?? null)))
    const text = JSON.stringify(storedColumn(values, first))
    texts.push(`${first === undefined ? '{' : ','}${JSON.stringify(name)}:`, text)
    first ??= { name, values }
    if (performance.now() - turnMs < TURN_MS) continue
    await nextTurn()
    turnMs = performance.now()
  }
  texts.push(first === undefined ? '{}' : '}')
  return texts
}

/** Safe because it only reads: an absent field is undefined. */
function fieldsOf(row: object): Readonly<Record<string, unknown>> {
  return row as Readonly<Record<string, unknown>>
}

/** Unpacks subjects that `pack` made. */
export function unpackSubjects(bytes: Buffer): ChunkSubjects {
  return JSON.parse(textOf(bytes)) as ChunkSubjects
}

/** Unpacks cells that `packCells` made. */
export function unpackCells(bytes: Buffer): ChunkCells {
  const { asked: uncheckedSubjects, ...cells } = JSON.parse(textOf(bytes)) as StoredCells
  return { ...cells, uncheckedSubjects }
}

/** Unpacks outcomes that `packOutcomes` made; explained ones include their evidence. */
export function unpackOutcomes(bytes: Buffer): readonly StoredOutcome[] {
  const { count, fields, facts, suggested } = unpackColumns(bytes)
  const rows = rowsOf({ ...fields, facts: rowsOf(facts, count) }, count)
  for (const [at, domain] of Object.entries(suggested)) {
    const row = rows[Number(at)]
    if (row !== undefined) row['suggestedDomain'] = domain
  }
  return rows.map((row) => (row['status'] === null ? null : (row as unknown as BareOutcome)))
}

/** Unpacks outcomes that `packOutcomes` made as columns, each with a value for each outcome. */
export function unpackColumns(bytes: Buffer): OutcomeColumns<Columns> {
  const stored = JSON.parse(textOf(bytes)) as StoredOutcomes
  const { fields, facts, suggested = {} } = stored
  const { status } = fields
  const count = stored.count ?? (Array.isArray(status) ? status.length : 0)
  return { count, fields: columnsOf(fields, count), facts: columnsOf(facts, count), suggested }
}

/**
 * Rows of columns; each begins as a copy of an object with every name, which is faster than adding
 * names one by one.
 */
function rowsOf(columns: Columns, count: number): Record<string, unknown>[] {
  const rows = Array.from({ length: count }, (): Record<string, unknown> => ({ ...columns }))
  for (const [name, values] of Object.entries(columns)) {
    for (const [at, row] of rows.entries()) row[name] = values[at]
  }
  return rows
}

// The casts above are safe because only this file and `blank-outcomes.ts` write these columns; a
// change of their form requires a migration.
function textOf(bytes: Buffer): string {
  return zstdDecompressSync(bytes).toString()
}
