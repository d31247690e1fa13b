import { z } from 'zod'
import { PRODUCTS } from './products.ts'

/**
 * Source of an operation: a single call with a key, one from the web app, or a record of a batch.
 */
export const USAGE_SOURCES = ['api', 'app', 'batch'] as const
/** Source of an operation. */
export type UsageSource = (typeof USAGE_SOURCES)[number]

/** Properties that usage can be grouped by. */
export const USAGE_PARTS = ['day', 'product', 'source'] as const
/** Property that usage is grouped by. */
export type UsagePart = (typeof USAGE_PARTS)[number]

/** Days in one response at most: a leap year. */
export const USAGE_DAYS_MAX = 366

const count = z.int()

/** Charged operations and their credits; a refund is deducted from the day of its call. */
const used = {
  operations: count.meta({ description: 'Calls and records of batches that were charged.' }),
  credits: count,
}

/** Usage of an account, grouped as requested. */
export const usageView = z.strictObject({
  from: z.iso.date().meta({ description: 'First day, in the time zone of the account.' }),
  to: z.iso.date().meta({ description: 'Last day, counted in.' }),
  time_zone: z.string(),
  by: z.array(z.enum(USAGE_PARTS)),
  data: z.array(
    z.strictObject({
      day: z.iso.date().optional(),
      product: z.enum(PRODUCTS).optional(),
      source: z.enum(USAGE_SOURCES).optional(),
      ...used,
    }),
  ),
  total: z.strictObject(used),
})
/** Usage of an account. */
export type UsageView = z.infer<typeof usageView>
