import type { Delimiter } from '@plumbline/contract/delimiters'
import type { Product } from '@plumbline/contract/products'
import type { CsvDialect } from './csv-records.ts'
import type { FileFormat } from './file-kind.ts'
import type { JsonKeys } from './json-row.ts'
import type { UploadLimits } from './limits.ts'
import type { AskedMapping } from './mapping.ts'

/** Options of the client for reading a file. */
export interface BatchFileOptions {
  readonly path: string
  /** Directory for unpacked workbooks. */
  readonly scratchDir: string
  /** File name from the client; its extension tells the format. */
  readonly fileName: string | null
  /**
   * `records` is NDJSON made of JSON records, whose keys are the field names; detected if absent.
   */
  readonly format?: FileFormat | 'records' | undefined
  readonly limits: UploadLimits
  /** Sheet of a workbook, by name or number from 1; if absent, the first with contacts. */
  readonly sheet?: string | number | undefined
  /** File within an archive; the only one if absent. */
  readonly entry?: string | undefined
  /** Name of the encoding; detected if absent. */
  readonly encoding?: string | undefined
  /**
   * Whether the first record is a header, or the number of the record that is, from 1; detected if
   * absent.
   */
  readonly header?: boolean | number | undefined
  readonly mapping?: AskedMapping | undefined
  /** Columns of the file, even if no row has a value for them; those that rows have if absent. */
  readonly ownColumns?: OwnColumns | undefined
  /** Delimiter of a text file; detected if absent. */
  readonly delimiter?: Delimiter | undefined
  /** Days that verdicts of another service are accepted; none are if absent. */
  readonly known?: number | undefined
  /** Date of such verdicts if the file has none, `2026-11-01`. */
  readonly knownAt?: string | undefined
  /** When the file was received; now if absent. */
  readonly receivedAt?: Date | undefined
  readonly product: Product
  /** ISO alpha-2, for phones without a country code. */
  readonly defaultCountry?: string | null | undefined
}

/** Columns of a file whose rows may have no value for some of them. */
export interface OwnColumns {
  readonly count: number
  /** Their names, if the rows are JSON objects. */
  readonly keys: readonly string[]
}

/** The start of a file's text. */
export interface FileSample {
  readonly text: string
  /** Whether the file continues after it. */
  readonly cut: boolean
}

/** How the cells of a file are laid out. */
export type FileLayout =
  | { readonly kind: 'csv'; readonly dialect: CsvDialect; readonly firstLine: number }
  | { readonly kind: 'lines'; readonly newline: '\n' | '\r' }
  | { readonly kind: 'json'; readonly keys: JsonKeys }
  | { readonly kind: 'sheet'; readonly sheet: string; readonly sheets: readonly string[] }

/** The layout of a file as found in its start. */
export interface FoundLayout {
  readonly format: FileFormat | 'records'
  readonly layout: FileLayout
  readonly skipChars: number
  readonly skipRecords: number
  readonly delimiter: string | null
  readonly header: readonly string[] | null
  /** Rows of the sample, without the header. */
  readonly rows: readonly (readonly string[])[]
}
