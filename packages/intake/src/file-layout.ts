import type { Delimiter } from '@plumbline/contract/delimiters'
import type { Product } from '@plumbline/contract/products'
import type { CsvDialect } from './csv-records.ts'
import type { FileFormat } from './file-kind.ts'
import type { JsonKeys } from './json-row.ts'
import type { UploadLimits } from './limits.ts'
import type { AskedMapping } from './mapping.ts'

/** What is known about a file before it is read. */
export interface BatchFileOptions {
  readonly path: string
  /** Where a workbook that comes packed is unpacked to; the system's folder if absent. */
  readonly scratchDir?: string | undefined
  /** As the client named it; its extension says the format. */
  readonly fileName: string | null
  /** `records` is NDJSON made of JSON records, whose keys are the fields; found out if absent. */
  readonly format?: FileFormat | 'records' | undefined
  readonly limits: UploadLimits
  /** Sheet of a workbook, by name or number from 1; the first with contacts if absent. */
  readonly sheet?: string | number | undefined
  /** File of an archive; the only one if absent. */
  readonly entry?: string | undefined
  /** Name of the encoding; found out if absent. */
  readonly encoding?: string | undefined
  /** Whether the first record names the columns; found out if absent. */
  readonly header?: boolean | undefined
  readonly mapping?: AskedMapping | undefined
  /** What separates the cells of a text file; found out if absent. */
  readonly delimiter?: Delimiter | undefined
  /** Days that a verdict of another service is believed; none is if absent. */
  readonly known?: number | undefined
  /** Day of such verdicts where the file has none, `2026-11-01`. */
  readonly knownAt?: string | undefined
  /** When the file came; now if absent. */
  readonly receivedAt?: Date | undefined
  readonly product: Product
  /** ISO alpha-2, for phones without a country code. */
  readonly defaultCountry?: string | null | undefined
}

/** The start of a file's text. */
export interface FileSample {
  readonly text: string
  /** Whether the file goes on after it. */
  readonly cut: boolean
}

/** How the cells of a file are laid out. */
export type FileLayout =
  | { readonly kind: 'csv'; readonly dialect: CsvDialect; readonly firstLine: number }
  | { readonly kind: 'lines'; readonly newline: '\n' | '\r' }
  | { readonly kind: 'json'; readonly keys: JsonKeys }
  | { readonly kind: 'sheet'; readonly sheet: string; readonly sheets: readonly string[] }

/** The layout of a file as its start shows it. */
export interface FoundLayout {
  readonly format: FileFormat | 'records'
  readonly layout: FileLayout
  readonly skipChars: number
  readonly skipRecords: number
  readonly delimiter: string | null
  readonly header: readonly string[] | null
  /** Rows of the sample, header left out. */
  readonly rows: readonly (readonly string[])[]
}
