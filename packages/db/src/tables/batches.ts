import type { BatchFault } from '@plumbline/contract/batch-view'
import type { PreviewCounts, PreviewHead } from '@plumbline/contract/batch-preview'
import type { Vendor } from '@plumbline/contract/vendors'
import type { Delimiter } from '@plumbline/contract/delimiters'
import type { BatchState } from '@plumbline/contract/batch'
import type { OriginKind } from '@plumbline/contract/batch-origin'
import type { Check, Depth, Product } from '@plumbline/contract/products'
import type { KeyMode } from '@plumbline/contract/plans'
import type { Json } from '@plumbline/contract/outcome'
import type { ColumnType, Generated, JSONColumnType } from 'kysely'

type Timestamp = ColumnType<Date, Date | string, Date | string>

/** The column that is mapped to a field, and the confidence of the mapping. */
export interface MappedColumn {
  readonly column: number
  readonly header: string | null
  readonly confidence: number
}

/** `batches`: uploaded files and asynchronous lookups. */
export interface BatchesTable {
  id: string
  account_id: string
  mode: KeyMode
  product: Product
  name: string | null
  status: BatchState
  explain: boolean
  charge_unknown: boolean
  default_country: string | null
  auto_start: boolean
  max_credits: number | null
  retention_days: number
  /** An asynchronous lookup: a batch of one record, left out of listings. */
  is_lookup: Generated<boolean>
  requested: JSONColumnType<BatchRequest>
  source_key: string
  file_name: string | null
  file_bytes: number
  file_format: Generated<string | null>
  encoding: Generated<string | null>
  encoding_confidence: Generated<number | null>
  sheet: Generated<string | null>
  sheets: ColumnType<readonly string[] | null, string | null | undefined, string | null>
  entry: Generated<string | null>
  column_types: ColumnType<readonly ColumnKind[] | null, string | null | undefined, string | null>
  delimiter: Generated<string | null>
  header: ColumnType<readonly string[] | null, string | null | undefined, string | null>
  column_count: Generated<number>
  has_rest: Generated<boolean>
  mapping: ColumnType<Readonly<Record<string, MappedColumn>>, string | undefined, string>
  read_whole: Generated<boolean>
  rows_total: Generated<number>
  rows_blank: Generated<number>
  rows_refused: Generated<number>
  rows_duplicate: Generated<number>
  rows_known: Generated<number>
  rows_billable: Generated<number>
  weights: Generated<string | null>
  rows_unpaid: Generated<number>
  credits_estimate: Generated<number>
  credits_held: Generated<number>
  credits_released: Generated<number>
  result_key: Generated<string | null>
  result_bytes: Generated<number | null>
  result_rows: Generated<number | null>
  result_sha256: Generated<string | null>
  error: ColumnType<BatchFault | null, string | null | undefined, string | null>
  sums: ColumnType<KeptSums | null, string | null | undefined, string | null>
  running_sums: ColumnType<RunningSums | null, string | null | undefined, string | null>
  ats: JSONColumnType<Partial<Record<BatchState, string>>>
  expires_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  lease: Generated<number>
  lease_until: ColumnType<Date | null, Date | null | undefined, Date | null>
  stage_attempts: Generated<number>
  resumes_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  paused_ms: Generated<number>
  pace: ColumnType<readonly PaceSample[] | null, string | null | undefined, string | null>
  change_count: Generated<number>
  sample_of: Generated<string | null>
  sample_places: ColumnType<readonly SamplePlace[] | null, string | null | undefined, string | null>
  sample_id: Generated<string | null>
  credits_voided: Generated<number>
  tasks_from: Generated<number | null>
  known: ColumnType<KnownVerdicts | null, string | null | undefined, string | null>
  origin_id: Generated<string | null>
  origin_kind: Generated<OriginKind | null>
  erasing: Generated<'chunks' | 'all' | null>
  blank_count: Generated<number>
  result_blank_count: Generated<number>
  source_erased: Generated<boolean>
  created_at: ColumnType<Date, Date | undefined, Date>
}

/**
 * Type of all cells of a workbook's column; `mixed` if they differ. In `cells` a number has its
 * digits, a date or time is ISO 8601 with a blank in between, a boolean is TRUE or FALSE.
 */
export type ColumnKind =
  | 'empty'
  | 'text'
  | 'number'
  | 'date'
  | 'datetime'
  | 'time'
  | 'boolean'
  | 'mixed'

/** How many subjects of a batch were open at a moment, in milliseconds since the Unix epoch. */
export interface PaceSample extends Pick<OpenSubjects, 'open'> {
  readonly at: number
  /** Absent in samples of earlier versions. */
  readonly groups?: OpenSubjects['groups']
}

/** Subjects of a batch without an outcome. */
export interface OpenSubjects {
  readonly open: Readonly<Partial<Record<Check, number>>>
  /** The waiting groups with the most subjects. */
  readonly groups: readonly OpenGroup[]
}

/** Subjects of a batch that wait in one group. */
export interface OpenGroup {
  readonly check: Check
  readonly key: string
  /** Subjects that wait. */
  readonly open: number
  /** Subjects answered under the group's limit since it was first reached. */
  readonly answered: number
}

/** Position of a row in its batch. */
export interface SamplePlace {
  readonly chunkNo: number
  readonly place: number
}

/** Another service's verdicts that a batch accepts in place of checks. */
export interface KnownVerdicts {
  readonly vendor: Vendor
  /** Columns of the verdicts and of their dates; null if one date was given for all. */
  readonly verdict: { readonly column: number; readonly header: string }
  readonly at: { readonly column: number; readonly header: string } | null
  readonly days: number
  /** Known rows that are checked nevertheless, for comparison. */
  readonly asked: readonly SamplePlace[]
}

/** Options of an upload that say how its file is read. */
export interface BatchRequest {
  readonly format?: 'csv' | 'tsv' | 'txt' | 'ndjson' | 'records'
  /** Whether there is a header, or the number of the record that is it, from 1. */
  readonly header?: boolean | number
  /** Name of a sheet, or its number from 1. */
  readonly sheet?: string | number
  /** Name of the file in an archive. */
  readonly entry?: string
  readonly encoding?: string
  readonly mapping?: Readonly<Record<string, string | number>>
  readonly delimiter?: Delimiter
  /** Maximum age in days of an accepted verdict of another service. */
  readonly known?: number
  /** Date of such verdicts if the file has no column of dates, `2026-11-01`. */
  readonly knownAt?: string
  /** The rows of another batch to check again, in place of a file. */
  readonly recheck?: RecheckRequest
  /** The outcomes of another batch to score again, in place of a file. */
  readonly rescore?: RescoreRequest
}

/** The weights by which the outcomes of a batch are scored again. */
export interface RescoreRequest {
  readonly of: string
  readonly weights: string
}

/** Which rows of a batch are checked again. */
export interface RecheckRequest {
  readonly of: string
  readonly only: readonly string[]
  readonly olderThanDays: number | null
}

/** Sums over the chunks of a batch. */
export interface KeptSums {
  readonly rowsDone: number
  readonly creditsUsed: number
  readonly verdicts: readonly number[]
  /** Share of all subjects that have an outcome, 0 to 1. */
  readonly answeredShare: number
}

/** Sums over the chunks of a batch that has not ended. */
export interface BatchSums extends KeptSums, OpenSubjects {
  /** Whether open subjects were counted: not if it is not running, or has very many tasks. */
  readonly isOpenCounted: boolean
  /** Subjects by check. */
  readonly totals: Readonly<Record<Check, number>>
  /** Credits that its sample has paid. */
  readonly prepaid: number
  /** Milliseconds until the last task that waits for a time is due; 0 if none waits. */
  readonly waitMs: number
}

/** Such sums of a running batch at a moment, in milliseconds since the Unix epoch. */
export interface RunningSums extends BatchSums {
  readonly at: number
}

/** `chunks`: runs of rows. */
export interface ChunksTable {
  batch_id: string
  no: number
  first_row: number
  row_count: number
  billable_count: number
  email_count: number
  phone_count: number
  ip_count: number
  domain_count: number
  remaining: number
  subjects: Buffer
  cells: Buffer
  settled_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  charged: Generated<number>
  verdicts: Generated<number[]>
  done_count: Generated<number | null>
  known_count: Generated<number>
  /** Whether subjects of the chunk are blanked. */
  has_erased: Generated<boolean>
  /** Credits that a sample has paid, and records that it has paid for. */
  prepaid: Generated<number>
  prepaid_records: Generated<number>
}

/** `batch_previews`: the preview of a batch, free of charge. */
export interface BatchPreviewsTable {
  batch_id: string
  lease: number
  head: JSONColumnType<PreviewHead>
  counts: ColumnType<PreviewCounts | null, string | null | undefined, string | null>
}

/** `group_answers`: subjects answered under the limit of a group that had reached it. */
export interface GroupAnswersTable {
  batch_id: string
  check_kind: Check
  group_key: string
  answered: number
}

/** `repeated_rows`: which rows of a batch have later duplicates, one bit a row. */
export interface RepeatedRowsTable {
  batch_id: string
  bits: Buffer
}

/** `tasks`: subjects of a chunk and check that have no outcome yet. */
export interface TasksTable {
  id: Generated<number>
  batch_id: string
  account_id: string
  mode: KeyMode
  check_kind: Check
  depth: Depth
  chunk_no: number
  indexes: number[] | null
  size: number
  states: ColumnType<readonly (Json | null)[] | null, string | null, string | null>
  attempts: Generated<number>
  lease: Generated<number>
  lease_until: ColumnType<Date | null, Date | null | undefined, Date | null>
  claimed: Generated<boolean>
  group_key: string | null
  due_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  reason: Generated<string | null>
}

/** `task_groups`: groups that wait for the limit of the same provider or registry. */
export interface TaskGroupsTable {
  check_kind: Check
  group_key: string
  next_at: Timestamp
  last_account_id: Generated<string>
  quiet_until: Generated<Date>
  out_task: Generated<number | null>
  opened: Generated<boolean>
}

/** `parts`: outcomes of a chunk and check. */
export interface PartsTable {
  batch_id: string
  chunk_no: number
  check_kind: Check
  id: Generated<number>
  indexes: number[] | null
  outcomes: Buffer
}

/** The tables of batches. */
export interface BatchTables {
  batches: BatchesTable
  chunks: ChunksTable
  repeated_rows: RepeatedRowsTable
  batch_previews: BatchPreviewsTable
  group_answers: GroupAnswersTable
  tasks: TasksTable
  task_groups: TaskGroupsTable
  parts: PartsTable
}
