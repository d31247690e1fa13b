import type { KeyMode, Plan } from '@plumbline/contract/plans'
import type { Generated } from 'kysely'

/** Who may ask: accounts, their keys, and the plans they are on. */
export interface AccountTables {
  plans: PlanRow
  accounts: AccountRow
  api_keys: ApiKeyRow
}

/** Filled from the contract by every migration run. */
export interface PlanRow {
  plan: Plan
  monthly_credits: number
}

/** A row of `accounts`. */
export interface AccountRow {
  /** `acc_` and 16 base62 characters. */
  id: string
  email: string
  plan: Plan
  /** What the next billing cycle starts with, where that differs. */
  next_plan: Plan | null
  /** IANA name; billing cycles turn at its midnight. */
  time_zone: string
  /** What people call it; its address where null. */
  name: string | null
  /** Days that files and results of a batch are kept where the upload says nothing; null: 30. */
  retention_days: number | null
  /** Whether members without a second factor may only look. */
  requires_second_factor: Generated<boolean>
  created_at: Generated<Date>
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
