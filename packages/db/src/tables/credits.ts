import type { LedgerKind } from '@plumbline/contract/ledger'
import type { Product } from '@plumbline/contract/products'
import type { UsageSource } from '@plumbline/contract/usage'
import type { Generated, GeneratedAlways } from 'kysely'

/** Credits; written only by `metering`. */
export interface CreditTables {
  credit_accounts: CreditAccountRow
  credit_entries: CreditEntryRow
  credit_holds: CreditHoldRow
  credit_unanswered: CreditUnansweredRow
  credit_usage: CreditUsageRow
  credit_notices: CreditNoticeRow
}

/** The balance of an account; equals the sum of its entries. */
export interface CreditAccountRow {
  account_id: string
  allowance: number
  packs: number
  /** Number of the billing cycle, counted from 0 at the anchor. */
  period_no: number
  period_start: Date
  period_end: Date
  /** Local midnight of the account's first day, a timestamp without time zone. */
  anchor: string
  /** The account's current day; over if `day_end` is past. */
  day: string | null
  day_end: Generated<Date>
  /** Debits of that day minus refunds, plus the credits that batches held. */
  spent: Generated<number>
  /** Credits that may be spent in a day; null if only the balance limits it. */
  daily_limit: number | null
  /** Balance below which the account is notified; null if it is not. */
  low_mark: number | null
}

/** Which kind of move a ledger entry records. */
export type EntryKind = LedgerKind

/** One entry of the append-only ledger. An operation of one kind takes effect once. */
export interface CreditEntryRow {
  id: GeneratedAlways<number>
  account_id: string
  op_key: string
  kind: EntryKind
  allowance_delta: number
  packs_delta: number
  held_delta: number
  period_no: number
  /** Name of the pack, reference of the hold, or reason of the refund. */
  detail: string | null
  /** The product that was used; null if not known. */
  product: Product | null
  source: UsageSource | null
  /** The day, by the account's calendar, that its usage counts for. */
  used_on: string | null
  created_at: Generated<Date>
}

/** Credits set aside for a batch; open while `closed_at` is null. */
export interface CreditHoldRow {
  account_id: string
  ref: string
  credits: number
  /** Remaining credits of the hold, by source. */
  allowance_left: number
  packs_left: number
  settled: number
  released: number
  /** The billing cycle from whose allowance it was taken. */
  period_no: number
  product: Product | null
  /** The day of the hold, by the account's calendar. */
  used_on: string | null
  created_at: Generated<Date>
  closed_at: Date | null
}

/** A debit whose call has not been answered yet. */
export interface CreditUnansweredRow {
  account_id: string
  op_key: string
  created_at: Generated<Date>
}

/** Usage of a product on a day; batches have one row each. */
export interface CreditUsageRow {
  account_id: string
  day: string
  product: Product
  source: UsageSource
  /** Id of the batch; empty for calls. */
  ref: string
  operations: number
  credits: number
}

/** Records that an account went below its low-credit mark. */
export interface CreditNoticeRow {
  account_id: string
  day: string
  available: number
  low_mark: number
  noted_at: Generated<Date>
  told_at: Date | null
}
