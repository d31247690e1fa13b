import { cellKind, type CellKind } from './cell-kinds.ts'
import { isKnownName } from './column-names.ts'
import { HEADER_ROWS, NO_NAMES } from './header.ts'

/** Characters of the name of a group or column. */
const MAX_NAME_CHARS = 60

/** Kinds of cells that no header of two rows has. */
const VALUES: ReadonlySet<CellKind> = new Set([...NO_NAMES, 'domain', 'date'])

/** A two-row header merged into one. */
export interface GroupedHeader {
  /** Rows to skip, including the header. */
  readonly skipRecords: number
  readonly header: readonly string[]
}

/**
 * Finds a two-row header among the first rows of a sheet: group names above column names, as merged
 * cells store them. Only the first of merged cells holds text, so a group is a cell followed by
 * empty ones, above cells that are all filled; a name merged over both rows has an empty cell
 * below. The rows below must hold values that look unlike names, so that a record is not taken for
 * a part of the header.
 */
export function findGroupedHeader(
  records: readonly (readonly string[])[],
): GroupedHeader | undefined {
  const rows = records.slice(0, HEADER_ROWS.above + 2).map((row) => row.map((cell) => cell.trim()))
  for (let at = 0; at + 1 < rows.length; at++) {
    const upper = rows[at] ?? []
    const kinds = upper.map(cellKind)
    // A row that may be a record must not be dropped.
    if (kinds.some((kind) => VALUES.has(kind))) return undefined
    const header = joined(upper, rows[at + 1] ?? [])
    if (
      header !== undefined &&
      isAbove(header, records.slice(at + 2, at + 2 + HEADER_ROWS.below))
    ) {
      return { skipRecords: at + 2, header }
    }
    // A row of known names is a header of its own.
    if (upper.filter((cell) => isKnownName(cell)).length >= 2) return undefined
  }
  return undefined
}

/** Both rows merged; undefined if they are not group and column names. */
function joined(upper: readonly string[], lower: readonly string[]): string[] | undefined {
  const width = Math.max(upper.length, lower.length)
  const names: string[] = []
  let group = ''
  let ofGroup = new Set<string>()
  let groups = 0
  for (let column = 0; column < width; column++) {
    const above = upper[column] ?? ''
    const below = lower[column] ?? ''
    const isGroup = above !== '' && below !== ''
    // It becomes part of the name of each of its columns.
    if (isGroup && above.length > MAX_NAME_CHARS) return undefined
    if (above === '' && (below === '' || group === '')) return undefined
    if (below !== '' && !isName(below)) return undefined
    if (above !== '') {
      group = isGroup ? above : ''
      ofGroup = new Set()
    } else {
      groups += ofGroup.size === 1 ? 1 : 0
    }
    // Names of one group are different.
    if (ofGroup.has(below) && below !== '') return undefined
    ofGroup.add(below)
    names.push(isGroup || above === '' ? `${group} ${below}` : above)
  }
  const isTitle = upper.filter((cell) => cell !== '').length < 2
  const isKnown = [...upper, ...lower, ...names].some((cell) => isKnownName(cell))
  return groups > 0 && !isTitle && isKnown ? names.map((name) => name.toWellFormed()) : undefined
}

/** Names are short words, not numbers or addresses. */
function isName(cell: string): boolean {
  return cell.length <= MAX_NAME_CHARS && cellKind(cell) === 'text' && /\p{L}/u.test(cell)
}

/** Whether the cells below the names look unlike names. */
function isAbove(header: readonly string[], records: readonly (readonly string[])[]): boolean {
  return header.some((_, column) => {
    const cells = records.map((row) => (row[column] ?? '').trim()).filter((cell) => cell !== '')
    return cells.length > 0 && cells.every((cell) => VALUES.has(cellKind(cell)))
  })
}
