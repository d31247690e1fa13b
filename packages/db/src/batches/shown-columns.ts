import { SHOWN_NAME_CHARS } from '@plumbline/contract/batch-view'
import { sql, type Selectable } from 'kysely'
import type { BatchesTable } from '../tables/batches.ts'

type BatchRow = Selectable<BatchesTable>

/** Columns of a batch that its view needs; others hold its whole header. */
export const SHOWN_COLUMNS = [
  'id',
  'product',
  'name',
  'status',
  'origin_id',
  'origin_kind',
  'created_at',
  'ats',
  'expires_at',
  'resumes_at',
  'file_format',
  'file_name',
  'file_bytes',
  'encoding',
  'encoding_confidence',
  'delimiter',
  'sheet',
  'sheets',
  'rows_total',
  'rows_blank',
  'rows_refused',
  'rows_duplicate',
  'rows_known',
  'rows_billable',
  'weights',
  'credits_estimate',
  'credits_held',
  'credits_released',
  'credits_voided',
  'sums',
  'running_sums',
  'tasks_from',
  'pace',
  'paused_ms',
  'error',
] as const satisfies readonly (keyof BatchRow)[]

/** The part of a batch's row that its view needs. */
export type ShownBatch = Pick<BatchRow, (typeof SHOWN_COLUMNS)[number] | 'mapping' | 'entry'>

/** Characters of a name that are read: one more than are shown, so that the view sees it is cut. */
const READ_CHARS = sql.lit(SHOWN_NAME_CHARS + 1)

/** SQL: the names in a batch's row that may be as long as a line, no longer than its view needs. */
export const SHOWN_NAMES = [
  sql<BatchRow['mapping']>`(
    select coalesce(jsonb_object_agg(field, mapped || jsonb_build_object(
      'header', left(mapped->>'header', ${READ_CHARS}))), '{}')
    from jsonb_each(mapping) as each (field, mapped))`.as('mapping'),
  sql<BatchRow['entry']>`left(entry, ${READ_CHARS})`.as('entry'),
] as const
