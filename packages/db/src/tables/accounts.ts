import type { AccountState, KeyMode, OwnLimits, Pack, Plan } from '@plumbline/contract/plans'
import type { Generated } from 'kysely'

/** Accounts, their keys, and their plans. */
export interface AccountTables {
  plans: PlanRow
  packs: PackRow
  accounts: AccountRow
  account_limits: AccountLimitsRow
  api_keys: ApiKeyRow
}

/** A plan with its limits; changed only by `changePlanOffer`. */
export interface PlanRow extends OwnLimits {
  plan: Plan
  monthly_credits: number
  test_keys: boolean
  /** Monthly price in US cents; null if it is on request. */
  price_cents: number | null
  /** Whether it is shown to customers who choose a plan. */
  is_offered: boolean
  position: number
}

/** An add-on pack; changed only by `changePackOffer`. */
export interface PackRow {
  pack: Pack
  credits: number
  price_cents: number | null
  is_offered: boolean
  position: number
}

/** Limits of one account, which override those of its plan. */
export interface AccountLimitsRow extends OwnLimits {
  account_id: string
}

/** A row of `accounts`. */
export interface AccountRow {
  /** `acc_` and 16 base62 characters. */
  id: string
  email: string
  plan: Plan
  /** The plan that the next billing cycle starts with, if it differs. */
  next_plan: Plan | null
  /** IANA name; billing cycles begin at its midnight. */
  time_zone: string
  /** Display name; null: the address. */
  name: string | null
  /** Days that files and results of a batch are kept unless the upload says otherwise; null: 30. */
  retention_days: number | null
  /** Whether members without a second factor can only read. */
  requires_second_factor: Generated<boolean>
  /** Whether the first billing cycle began without credits. */
  opens_empty: Generated<boolean>
  created_at: Generated<Date>
  status: Generated<AccountState>
  /** Reason of the suspension; shown to the account. */
  status_reason: Generated<string | null>
  status_at: Generated<Date | null>
  /** When the data of a closed account was erased. */
  erased_at: Generated<Date | null>
}

/** A row of `api_keys`. */
export interface ApiKeyRow {
  /** `key_` and 16 base62 characters. */
  id: string
  account_id: string
  mode: KeyMode
  /** SHA-256 of the whole key. */
  digest: Buffer
  /** The key up to its random part, for example `svc_live_`. */
  prefix: string
  last4: string
  created_at: Generated<Date>
  revoked_at: Date | null
  last_used_at: Date | null
}
