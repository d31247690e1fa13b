import type { ColumnKind } from '@plumbline/db/tables/batches'
import { IntakeError } from './intake-error.ts'

/** An open workbook, of whatever program. */
export interface Workbook extends AsyncDisposable {
  readonly sheets: readonly Sheet[]
  /** The rows of a sheet, from its first on; those between that are missing are there, without cells. */
  rows(sheet: Sheet, signal: AbortSignal): AsyncGenerator<readonly SheetRow[]>
}

/** A sheet of cells. */
export interface Sheet {
  readonly name: string
  readonly isHidden: boolean
  /** Where its cells are in the workbook. */
  readonly part: string
}

/** One row of a sheet, up to its last cell that holds something. */
export interface SheetRow {
  /** As they are shown, numbers with all their digits. */
  readonly cells: readonly string[]
  /** For each cell one bit of `KIND_BITS`, or 0. */
  readonly kinds: readonly number[]
}

/** What a cell can be, as a bit. */
export const KIND_BITS = {
  text: 1,
  number: 2,
  date: 4,
  datetime: 8,
  time: 16,
  boolean: 32,
} as const

/** Gathers of which kind the cells of columns are. */
export interface ColumnKinds {
  add(row: SheetRow): void
  kinds(columns: number): readonly ColumnKind[]
}

/** Starts with columns that are empty. */
export function createColumnKinds(): ColumnKinds {
  const masks: number[] = []
  return {
    add: ({ kinds }) => {
      for (let column = 0; column < kinds.length; column++) {
        masks[column] = (masks[column] ?? 0) | (kinds[column] ?? 0)
      }
    },
    kinds: (columns) => Array.from({ length: columns }, (_, column) => kindOf(masks[column] ?? 0)),
  }
}

function kindOf(mask: number): ColumnKind {
  switch (mask) {
    case 0:
      return 'empty'
    case KIND_BITS.text:
      return 'text'
    case KIND_BITS.number:
      return 'number'
    case KIND_BITS.date:
      return 'date'
    case KIND_BITS.datetime:
    case KIND_BITS.datetime | KIND_BITS.date:
      return 'datetime'
    case KIND_BITS.time:
      return 'time'
    case KIND_BITS.boolean:
      return 'boolean'
    default:
      return 'mixed'
  }
}

/** Columns that any file may have; what lies beyond them is counted. */
export const NEAR_COLUMNS = 256

/** Cells of a sheet beyond its near columns that hold nothing: a few bytes could stand for billions. */
export const MAX_FAR_CELLS = 1_000_000

/** Cells of a sheet that are told by others that they repeat, at most. */
export const MAX_REPEATED_CELLS = 20_000_000

/** The refusal of a sheet beyond that. */
export function sparse(): IntakeError {
  return new IntakeError(
    'payload_too_large',
    'The sheet has cells far apart or repeated by the million; copy what is needed to a new one.',
  )
}

/** The most rows and columns of a sheet. Source: Microsoft, "Excel specifications and limits". */
export const SHEET_LIMITS = { rows: 1_048_576, columns: 16_384 } as const
