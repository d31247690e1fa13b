import type { ErasureCounts, ErasureState } from '@plumbline/contract/erasure'
import type { Json } from '@plumbline/contract/outcome'
import type { KeyMode } from '@plumbline/contract/plans'
import type { ColumnType, Generated, JSONColumnType } from 'kysely'

/** Erasure requests of accounts. */
export interface ErasureTables {
  erasures: ErasuresTable
}

/** A row of `erasures`. */
export interface ErasuresTable {
  /** `ers_` and 16 base62 characters. */
  id: string
  account_id: string
  mode: KeyMode
  status: Generated<ErasureState>
  value_count: number
  include_addresses: boolean
  /** The values to erase, encrypted under the installation's key; null once done. */
  target: string | null
  place: ColumnType<Json, string, string>
  counts: JSONColumnType<Partial<ErasureCounts>, string | undefined>
  lease: Generated<number>
  lease_until: Generated<Date>
  created_at: Generated<Date>
  completed_at: ColumnType<Date | null, undefined, Date | null>
}
