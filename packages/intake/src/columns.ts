import { CHECKS, type Check } from '@plumbline/contract/products'
import { cellKind, type CellKind } from './cell-kinds.ts'
import { nameScore, describesSubjects, wordsOf } from './column-names.ts'
import { firstValue } from './subject.ts'

/** A column that may hold subjects of a check. */
export interface ColumnGuess {
  /** 0-based. */
  readonly column: number
  readonly header: string | null
  /** Confidence from 0 to 1, two decimals. */
  readonly confidence: number
}

/** Columns for each check, the best first. */
export type ColumnRoles = Readonly<Record<Check, readonly ColumnGuess[]>>

const MIN_CONFIDENCE = 0.3

/** Finds the columns of each check by their names and a sample of their cells. */
export function findRoles(
  header: readonly string[] | null,
  rows: readonly (readonly string[])[],
): ColumnRoles {
  const width = Math.max(header?.length ?? 0, ...rows.map((row) => row.length), 0)
  const shares = Array.from({ length: width }, (_, column) => sharesOf(rows, column))
  const roles = Object.fromEntries(CHECKS.map((check) => [check, guessesOf(check, header, shares)]))
  return { email: [], phone: [], ip: [], domain: [], ...roles }
}

function guessesOf(
  check: Check,
  header: readonly string[] | null,
  shares: readonly Shares[],
): readonly ColumnGuess[] {
  return shares
    .map((share, column) => {
      const name = header?.[column] ?? null
      const confidence = confidenceOf(check, name, share)
      const rank = share.nested > 0.5 ? Math.min(confidence, NESTED_RANK) : confidence
      return { column, header: name, confidence, rank, filled: share.filled }
    })
    .filter(({ confidence }) => confidence >= MIN_CONFIDENCE)
    .toSorted((a, b) => b.rank - a.rank || b.filled - a.filled || a.column - b.column)
    .map(({ column, header: name, confidence }) => ({ column, header: name, confidence }))
}

/** Shares of kinds among the filled cells of a column. */
interface Shares {
  /** Share of rows with a non-empty cell. */
  readonly filled: number
  /** Share of the filled cells that are JSON objects or arrays, which no check reads. */
  readonly nested: number
  readonly of: (kind: CellKind) => number
}

function sharesOf(rows: readonly (readonly string[])[], column: number): Shares {
  const counts = new Map<CellKind, number>()
  let filled = 0
  let nested = 0
  for (const row of rows) {
    const cell = row[column] ?? ''
    const kind = cellKind(firstValue(cell))
    if (kind === 'empty') continue
    filled += 1
    if (NESTED.test(cell)) nested += 1
    else counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return {
    filled: rows.length === 0 ? 0 : filled / rows.length,
    nested: filled === 0 ? 0 : nested / filled,
    of: (kind) => (filled === 0 ? 0 : (counts.get(kind) ?? 0) / filled),
  }
}

/**
 * Confidence with which a column of nested values is ranked at most: behind others that may hold
 * values, before those of other people.
 */
const NESTED_RANK = 0.4

/** An object or array in JSON. */
const NESTED = /^\s*(?:\{.*\}|\[.*\])\s*$/s

/**
 * Confidence by the name for empty columns, by the cells if they are unmistakable, else by both.
 */
function confidenceOf(check: Check, name: string | null, shares: Shares): number {
  const byName = name === null ? 0 : nameScore(check, name)
  const looks = looksLike(check, shares, name !== null && byName === 0)
  if (shares.filled === 0) return round(byName * 0.5)
  if (byName > 0) {
    // Of columns with equal names the fuller one comes first; a good name keeps most of its
    // confidence.
    const fullness = 0.9 + 0.1 * shares.filled
    const least = looks > 0 || byName >= SURE_NAME ? 0.6 : UNLIKE_ITS_NAME
    return round(byName * fullness * (least + (1 - least) * Math.min(1, looks * 1.25)))
  }
  const alone = check === 'email' || check === 'ip' ? 0.8 : 0.6
  if (name === null || wordsOf(name) === '') return round(looks * alone)
  if (describesSubjects(check, name) || ABOUT_ANOTHER[check]?.test(wordsOf(name)) === true)
    return check === 'email' ? round(looks * LAST_RESORT) : 0
  return round(looks * alone * UNKNOWN_NAME)
}

/** Confidence of a certain name over cells that look different. */
const SURE_NAME = 0.9

/** Factor for a less certain name over cells of which none matches. */
const UNLIKE_ITS_NAME = 0.3

/** Factor for matching cells under an unrelated name. */
const UNKNOWN_NAME = 0.75

/** Confidence of columns with addresses of other people, which are used if a file has no others. */
const LAST_RESORT = 0.31

function looksLike(check: Check, shares: Shares, oddName: boolean): number {
  // Plain digits under a name that does not say phone are amounts and keys.
  return shares.of(check) + (check === 'phone' && !oddName ? shares.of('digits') : 0)
}

/** Words in the names of columns whose cells look alike: fax numbers, profile pages. */
const ABOUT_ANOTHER: { readonly [C in Check]?: RegExp } = {
  email:
    /\b(?:owner|owned|by|sender|assigned|assignee|created|modified|reply|agent|manager|rep|name|login|username|nickname|nom|nome|nombre|naam|vorname|nachname|host|organi[sz]er)\b/,
  phone:
    /\b(?:fax|telefax|telecopie|id|no|number|zip|code|account|iban|amount|pager|ssn|date|time|latitude|longitude|lat|lng|price|total|tax|vat|sku|ean|isbn|reference|score)\b/,
  domain:
    /\b(?:linkedin|facebook|twitter|photo|picture|avatar|image|file|name|company|url|link|profile|id|referr?er|landing|path|source|agent|version|pattern)\b/,
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
