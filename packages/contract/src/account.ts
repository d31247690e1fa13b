import { z } from 'zod'

const count = z.int().min(0)
/** Plan, limits and credits of an account. Source: decisions 36 and 37. */
export const accountView = z.strictObject({
  plan: z.string().meta({ description: 'One of `GET /v1/plans`, or one that is offered no more.' }),
  next_plan: z
    .string()
    .nullable()
    .meta({ description: 'With the next cycle, where it is another.' }),
  time_zone: z.string().meta({ description: 'IANA name; cycles and days turn at its midnight.' }),
  credits: z.strictObject({
    allowance: count.meta({ description: 'Left of this cycle; gone when it ends.' }),
    packs: count.meta({ description: 'Left of add-on packs and goodwill; never expires.' }),
    held: count.meta({ description: 'Set aside for batches that run.' }),
    resets_at: z.iso.datetime().meta({ description: 'When the next allowance starts, UTC.' }),
  }),
  spending: z.strictObject({
    today: count.meta({
      description: 'Calls, and what batches of today set aside or were charged.',
    }),
    daily_limit: count
      .nullable()
      .meta({ description: 'The account’s own; beyond it calls are 402.' }),
    low_mark: count.nullable().meta({ description: 'Below this balance its people are told.' }),
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
      description:
        'Rows of batches of test keys, and duplicate, known, blank and refused rows; by the UTC day.',
    }),
  }),
})

/** The account as its owner sees it. */
export type AccountView = z.infer<typeof accountView>
