import type { Json } from '@plumbline/contract/outcome'
import type { ColumnType, Generated } from 'kysely'

/** The log of administrative acts. */
export interface AuditTables {
  audit_log: AuditRow
}

/** A row of `audit_log`, which is append-only. */
export interface AuditRow {
  id: Generated<number>
  acted_at: Generated<Date>
  actor: string
  action: string
  account_id: string | null
  before: ColumnType<Json | null, string | null, never>
  after: ColumnType<Json | null, string | null, never>
}
