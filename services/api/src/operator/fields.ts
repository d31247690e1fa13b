import type { OwnLimit } from '@plumbline/contract/plans'

/** A form field: its name, and the label shown beside it and in errors. */
export interface Field {
  readonly name: string
  readonly label: string
}

/** Label of each limit in forms. */
export const LIMIT_LABELS: Readonly<Record<OwnLimit, string>> = {
  calls_per_second: 'Calls a second',
  calls_burst: 'Calls at once after a rest',
  unfinished_batches: 'Batches that have not ended',
  upload_rows: 'Rows of one upload',
  hlr_numbers_per_day: 'Bought phone lookups a day',
}

/** Fields of the forms of one account. */
export const ACCOUNT_FIELDS = {
  plan: { name: 'plan', label: 'Plan' },
  pack: { name: 'pack', label: 'Pack' },
  credits: { name: 'credits', label: 'Credits' },
  dailyLimit: { name: 'daily_limit', label: 'Credits a day at most' },
  lowMark: { name: 'low_mark', label: 'Low-credit mark' },
  mode: { name: 'mode', label: 'Mode' },
  user: { name: 'user', label: 'Member' },
  confirm: { name: 'confirm', label: 'Id of the account' },
} as const satisfies Readonly<Record<string, Field>>
