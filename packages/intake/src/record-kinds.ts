import type { ClaimColumn } from './claim-columns.ts'
import type { Claim, ClaimReader } from './claims.ts'
import { createDuplicateIndex } from './duplicate-index.ts'
import { createRowSet } from './row-set.ts'

/** Subjects of a record, as in a single call; undefined if absent or dropped. */
export interface Subjects {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly ip: string | undefined
  readonly domain: string | undefined
}

/** The text in a column that is mapped to no field; undefined if absent. */
export type ColumnText = (column: ClaimColumn) => string | undefined

/** Kind of a valid record, by earlier records and by another service's verdict. */
export interface RecordKind {
  readonly kind: 'billable' | 'duplicate' | 'known'
  /** The first row with the same subjects, if it is not this one. */
  readonly ofRow?: number
  readonly claim?: Claim
}

/** Determines the kinds of records in the order of the file, and remembers each record. */
export interface RecordKinds {
  /** @param keys subjects in normal form, for comparison */
  of(row: number, subjects: Subjects, keys: Subjects, textOf: ColumnText): RecordKind
  /** One bit a row, lowest first: set if the row has later duplicates. */
  duplicated(): Buffer
}

/** Makes an empty index of records; without `claimOf` there are no known rows. */
export function createRecordKinds(claimOf: ClaimReader | undefined): RecordKinds {
  const duplicates = createDuplicateIndex()
  const duplicated = createRowSet()
  /** First occurrences that are known rows. */
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
      duplicated.add(first)
      return { kind: 'duplicate', ofRow: first }
    },
    duplicated: () => duplicated.toBuffer(),
  }
}

/** Another service's verdict on an address does not settle a record with other subjects. */
function isAddressAlone({ email, phone, ip, domain }: Subjects): boolean {
  return email !== undefined && phone === undefined && ip === undefined && domain === undefined
}
