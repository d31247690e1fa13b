import type { BatchPreview, ColumnKind, PreviewColumn } from '@plumbline/contract/batch-preview'
import { PREVIEW } from '@plumbline/contract/batch-preview'
import { MAPPED_FIELDS } from '@plumbline/contract/batch-request'
import type { Encoding } from '@plumbline/contract/encodings'
import { CHECKS } from '@plumbline/contract/products'
import { cellKind } from './cell-kinds.ts'
import type { ColumnRoles } from './columns.ts'
import type { FileFormat } from './file-kind.ts'
import type { ColumnMapping } from './mapping.ts'

/** Facts about a file from its start. */
export interface FileSketch {
  readonly format: FileFormat | 'records'
  /** Null for a workbook. */
  readonly encoding: Encoding | null
  /** Null if there is none, and for JSON and workbooks. */
  readonly delimiter: string | null
  /** Whether quotes within quoted cells follow a backslash. */
  readonly hasBackslashes: boolean
  readonly sheet: string | null
  /** 1-based number of the header record; null without one. */
  readonly headerRow: number | null
  /** Unchanged, including repeated names; for JSON the keys of the sample. */
  readonly header: readonly string[] | null
  readonly columns: number
  /** The first non-blank rows. */
  readonly rows: readonly (readonly string[])[]
  /** Every column that may hold subjects of a check, whatever the product. */
  readonly roles: ColumnRoles
}

/**
 * The part of a preview that the start of a file gives.
 *
 * @param mapping empty if none could be made
 */
export function previewHead(
  sketch: FileSketch,
  mapping: ColumnMapping,
): Pick<BatchPreview, 'file' | 'columns' | 'first_rows'> {
  const { format, encoding, delimiter, hasBackslashes, sheet, headerRow } = sketch
  return {
    file: {
      format,
      encoding,
      delimiter,
      ...(hasBackslashes ? { quote_escape: '\\' } : {}),
      sheet,
      header_row: headerRow,
    },
    columns: Array.from({ length: sketch.columns }, (_, column) =>
      columnOf(sketch, mapping, column),
    ),
    first_rows: sketch.rows
      .slice(0, PREVIEW.rows)
      .map((row) => row.map((value) => cutValue(value))),
  }
}

/** A value shortened for display, to `chars` characters with an ellipsis. */
export function cutValue(value: string, chars: number = PREVIEW.chars): string {
  if (value.length <= chars) return value
  return `${value.slice(0, chars - 1).toWellFormed()}…`
}

function columnOf(sketch: FileSketch, mapping: ColumnMapping, column: number): PreviewColumn {
  const cells = sketch.rows.map((row) => (row[column] ?? '').trim())
  const values = [...new Set(cells.filter((cell) => cell !== ''))].slice(0, PREVIEW.values)
  const header = sketch.header?.[column] ?? null
  return {
    column,
    header: header === null ? null : cutValue(header),
    values: values.map((value) => cutValue(value)),
    ...kindOf(sketch, mapping, column, cells),
    field: MAPPED_FIELDS.find((field) => mapping[field]?.column === column) ?? null,
  }
}

/** Confidence below which a column is described by the kind of its cells. */
const LEAST_ROLE = 0.5

function kindOf(
  { roles }: FileSketch,
  mapping: ColumnMapping,
  column: number,
  cells: readonly string[],
): { kind: ColumnKind; confidence: number } {
  const mapped = CHECKS.find((check) => mapping[check]?.column === column)
  if (mapped !== undefined) return { kind: mapped, confidence: mapping[mapped]?.confidence ?? 1 }
  const guesses = CHECKS.flatMap((check) =>
    roles[check]
      .filter((guess) => guess.column === column && guess.confidence >= LEAST_ROLE)
      .map(({ confidence }) => ({ kind: check, confidence })),
  )
  const [best] = guesses.toSorted((a, b) => b.confidence - a.confidence)
  return best ?? commonest(cells)
}

function commonest(cells: readonly string[]): { kind: ColumnKind; confidence: number } {
  const counts = new Map<ColumnKind, number>()
  let filled = 0
  for (const cell of cells) {
    const looks = cellKind(cell)
    if (looks === 'empty') continue
    const kind = looks === 'digits' ? 'number' : looks
    filled += 1
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a)
  if (most === undefined) return { kind: 'empty', confidence: 1 }
  return { kind: most[0], confidence: Math.round((most[1] / filled) * 100) / 100 }
}
