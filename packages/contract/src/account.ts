import { z } from 'zod'
import type { Plan } from './plans.ts'

const count = z.int().min(0)
/** The plans by name. */
export const PLAN_NAMES = ['free', 'starter', 'pro'] as const satisfies readonly Plan[]

/** What an account may use and has left. Source: decisions 36 and 37. */
export const accountView = z.strictObject({
  plan: z.enum(PLAN_NAMES),
  credits: z.strictObject({
    allowance: count.meta({ description: 'Left of this cycle; gone when it ends.' }),
    packs: count.meta({ description: 'Left of add-on packs and goodwill; never expires.' }),
    held: count.meta({ description: 'Set aside for lists that run.' }),
    resets_at: z.iso.datetime().meta({ description: 'When the next allowance starts, UTC.' }),
  }),
  limits: z.strictObject({
    calls_per_second: z.number(),
    calls_burst: count,
    call_seconds: z.number(),
    body_bytes: count,
    json_records: count,
    json_records_bytes: count,
    json_depth: count,
    json_keys: count,
    upload_bytes: count,
    upload_rows: count,
    upload_columns: count,
    cell_bytes: count,
    line_bytes: count,
    unfinished_batches: count,
    stored_bytes: count,
    hlr_numbers_per_day: count.meta({
      description: 'Numbers that a network is asked about for money, in a UTC day.',
    }),
    downloads_at_once: count,
    unpaid_rows_per_day: count.meta({
      description: 'Rows of lists by test keys, repeats, blank and refused rows; by the UTC day.',
    }),
  }),
})

/** The account as its owner sees it. */
export type AccountView = z.infer<typeof accountView>
