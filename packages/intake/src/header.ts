import { cellKind, type CellKind } from './cell-kinds.ts'
import { isKnownName } from './column-names.ts'

/** Records above a header (titles and notes) that are skipped, and those below it that are examined. */
export const HEADER_ROWS = { above: 20, below: 50 } as const

/** Kinds of cells that no header has. */
export const NO_NAMES: ReadonlySet<CellKind> = new Set(['email', 'phone', 'digits', 'ip'])

/**
 * Number of records before the header: 0 unless titles or notes of few cells come before a record
 * of several known names, as in reports and the exports of LinkedIn, or before one that is above
 * values: then wider notes are passed too if a blank record divides them from a known name, and
 * unknown names count if they are both wider and divided.
 */
export function findPreamble(rows: readonly (readonly string[])[]): number {
  let widest = 0
  let isDivided = false
  for (const [at, row] of rows.slice(0, HEADER_ROWS.above).entries()) {
    const cells = row.map((cell) => cell.trim()).filter((cell) => cell !== '')
    if (cells.length === 0) {
      isDivided = true
      continue
    }
    // A row that may be a record must not be dropped.
    if (cells.some((cell) => NO_NAMES.has(cellKind(cell)))) return 0
    const known = cells.filter(isKnownName).length
    const isNamed = known >= 2 && known * 3 >= cells.length
    const isNarrow = widest < cells.length
    const mayName = known > 0 ? isNarrow || isDivided : isNarrow && isDivided && areNames(cells)
    if (mayName && isAboveValues(row, rows.slice(at + 1))) return widest > 0 ? at : 0
    if (isNamed) return cells.length >= 2 * widest && widest > 0 ? at : 0
    widest = Math.max(widest, cells.length)
    isDivided = false
  }
  return 0
}

/** Kinds of values that are told from all else by their form. */
const CLEAR: ReadonlySet<CellKind> = new Set(['email', 'phone', 'ip', 'domain'])

/** Share of a column's cells from which it is of one kind. */
const MOSTLY = 0.8

/** Whether a record has a text above a column of addresses, numbers or names of domains. */
function isAboveValues(row: readonly string[], below: readonly (readonly string[])[]): boolean {
  return row.some((name, column) => {
    if (cellKind(name) !== 'text') return false
    const kinds = below
      .slice(0, HEADER_ROWS.below)
      .map((record) => cellKind(record[column] ?? ''))
      .filter((kind) => kind !== 'empty')
    const [common = 'text'] = kinds.filter((kind) => CLEAR.has(kind))
    return (
      CLEAR.has(common) && kinds.filter((kind) => kind === common).length >= kinds.length * MOSTLY
    )
  })
}

/**
 * Whether the first record is a header. A record with addresses or numbers is data, and one with
 * known names a header; otherwise one with a malformed value is data, since a header is in no
 * result; otherwise the columns vote: for a header if the first cell differs in kind from those
 * below.
 */
export function findHeader(rows: readonly (readonly string[])[]): boolean {
  const at = rows.findIndex((row) => row.some((cell) => cell.trim() !== ''))
  const first = rows[at]?.map((cell) => cell.trim())
  if (first === undefined) return false
  const kinds = first.map(cellKind)
  if (kinds.some((kind) => NO_NAMES.has(kind)) || kinds.every((kind) => kind === 'empty'))
    return false
  if (first.some(isKnownName)) return true
  if (first.some(mayBeValue)) return false
  const below = rows.slice(at + 1, at + 1 + HEADER_ROWS.below)
  if (kinds.includes('domain') || kinds.includes('date')) return false
  if (below.length === 0) return areNames(first)
  let votes = 0
  for (const [column, kind] of kinds.entries()) {
    votes += vote(
      first[column] ?? '',
      kind,
      below.map((row) => (row[column] ?? '').trim()),
    )
  }
  return votes === 0 ? areNames(first) : votes > 0
}

/** A URL, an IP address with a port or range, a number with a note behind it. */
const VALUE = /:\/\/|^\d{1,3}(?:\.\d{1,3}){3}\b|^\+\d/

/** Whether a cell looks like a malformed value, or one with more around it, and is no `E-m@il`. */
function mayBeValue(cell: string): boolean {
  return VALUE.test(cell) || (/\S@\S/.test(cell) && !isKnownName(cell.replaceAll('@', 'a')))
}

/** Column names are distinct, short and hold no digits. */
function areNames(cells: readonly string[]): boolean {
  const different = new Set(cells).size === cells.length
  return cells.length > 1 && different && cells.every((cell) => /^\D{1,40}$/.test(cell))
}

function vote(first: string, kind: CellKind, below: readonly string[]): number {
  const filled = below.filter((cell) => cell !== '')
  if (filled.length === 0) return 0
  if (filled.includes(first)) return -1
  const kinds = filled.map(cellKind)
  const [common = 'text'] = kinds
  const alike = kinds.filter((other) => other === common).length / kinds.length
  if (alike >= MOSTLY && common !== 'text') return kind === common ? -1 : 1
  if (!/\d/.test(first) && filled.every((cell) => /\d/.test(cell))) return 1
  // Cells of one length below a name of another are codes.
  const lengths = new Set(filled.map((cell) => cell.length))
  if (filled.length >= 3 && lengths.size === 1) return lengths.has(first.length) ? -1 : 1
  return 0
}
