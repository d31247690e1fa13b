import { z } from 'zod'
import { PRODUCTS } from './products.ts'

/** Days for which the result of an asynchronous lookup can be read. */
export const LOOKUP_KEPT_DAYS = 30

/** The longest time that `GET /v1/lookups/{id}?wait=` waits for the end, in seconds. */
export const LOOKUP_WAIT_SECONDS = 30

/** States of an asynchronous lookup. */
export const LOOKUP_STATES = ['running', 'completed', 'failed'] as const
/** A lookup that was asked with `Prefer: respond-async`. Source: decision 41. */
export const lookupView = z.strictObject({
  id: z.string(),
  product: z.enum(PRODUCTS),
  status: z.enum(LOOKUP_STATES),
  credits_used: z.int().min(0).meta({ description: 'The price, as of a call that waits.' }),
  created_at: z.iso.datetime(),
  completed_at: z.iso.datetime().optional(),
  result: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'What the call would have answered; there once it is completed.' }),
  error: z
    .strictObject({ error: z.string(), message: z.string() })
    .optional()
    .meta({ description: 'Why there is no result; nothing was charged.' }),
})
/** An asynchronous lookup. */
export type LookupView = z.infer<typeof lookupView>
