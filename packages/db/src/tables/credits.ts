import type { Generated, GeneratedAlways } from 'kysely'

/** Credits, written by nobody but metering. */
export interface CreditTables {
  credit_accounts: CreditAccountRow
  credit_entries: CreditEntryRow
  credit_holds: CreditHoldRow
  credit_unanswered: CreditUnansweredRow
}

/** What an account can spend now; equals the sum of its entries. */
export interface CreditAccountRow {
  account_id: string
  allowance: number
  packs: number
  /** Counted from 0 at the anchor. */
  period_no: number
  period_start: Date
  period_end: Date
  /** Local midnight of the first day, as a time without zone. */
  anchor: string
}

/** Which move an entry of the ledger records. */
export type EntryKind =
  | 'grant'
  | 'expire'
  | 'pack'
  | 'goodwill'
  | 'debit'
  | 'refund'
  | 'give_back'
  | 'hold'
  | 'settle'
  | 'release'

/** One line of the ledger; append-only. One operation of one kind takes effect once. */
export interface CreditEntryRow {
  id: GeneratedAlways<number>
  account_id: string
  op_key: string
  kind: EntryKind
  allowance_delta: number
  packs_delta: number
  held_delta: number
  period_no: number
  /** Name of the pack, reference of the hold, reason of the refund. */
  detail: string | null
  created_at: Generated<Date>
}

/** Credits set aside for a batch; open while `closed_at` is null. */
export interface CreditHoldRow {
  account_id: string
  ref: string
  credits: number
  /** What is left of it, by where it came from. */
  allowance_left: number
  packs_left: number
  settled: number
  released: number
  /** The cycle whose allowance it took. */
  period_no: number
  created_at: Generated<Date>
  closed_at: Date | null
}

/** A debit whose caller has had no answer yet. */
export interface CreditUnansweredRow {
  account_id: string
  op_key: string
  created_at: Generated<Date>
}
