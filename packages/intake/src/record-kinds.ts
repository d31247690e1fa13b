import type { ClaimColumn } from './claim-columns.ts'
import type { Claim, ClaimReader } from './claims.ts'
import { createDuplicateIndex } from './duplicate-index.ts'
import { createRowSet } from './row-set.ts'

/** Subjects of a record, as a single call would be asked; undefined if absent or dropped. */
export interface Subjects {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly ip: string | undefined
  readonly domain: string | undefined
}

/** The text in a column that feeds no field; undefined if absent. */
export type ColumnText = (column: ClaimColumn) => string | undefined

/** What a record that can be asked is, by those before it and by what another service said of it. */
export interface RecordKind {
  readonly kind: 'billable' | 'duplicate' | 'known'
  /** The first row of the same subjects, where it was not this one. */
  readonly ofRow?: number
  readonly claim?: Claim
}

/** Tells the kinds of records, in the order of the file, and remembers every one. */
export interface RecordKinds {
  /** @param keys subjects in normal form: equal for what is the same */
  of(row: number, subjects: Subjects, keys: Subjects, textOf: ColumnText): RecordKind
  /** Rows that a later row repeats: one bit a row, lowest first. */
  repeated(): Buffer
}

/** Makes one; without `claimOf` nothing is known. */
export function createRecordKinds(claimOf: ClaimReader | undefined): RecordKinds {
  const duplicates = createDuplicateIndex()
  const repeated = createRowSet()
  /** First rows that are known. */
  const known = createRowSet()
  return {
    of: (row, subjects, keys, textOf) => {
      const first = duplicates.find(row, keys.email, keys.phone, keys.ip, keys.domain)
      if (first === -1) {
        const claim = isAddressAlone(subjects) ? claimOf?.(textOf) : undefined
        if (claim === undefined) return { kind: 'billable' }
        known.add(row)
        return { kind: 'known', claim }
      }
      if (known.has(first)) return { kind: 'known', ofRow: first }
      repeated.add(first)
      return { kind: 'duplicate', ofRow: first }
    },
    repeated: () => repeated.toBuffer(),
  }
}

/** What others say of an address settles nothing of a record's other parts. */
function isAddressAlone({ email, phone, ip, domain }: Subjects): boolean {
  return email !== undefined && phone === undefined && ip === undefined && domain === undefined
}
