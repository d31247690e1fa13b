import { z } from 'zod'
import { CHECKS, type Check } from './products.ts'
import { READABLE, VALUE_MAX_CHARS } from './requests.ts'

/** Maximum number of values in one erasure. */
export const ERASED_VALUES_MAX = 10_000

/**
 * The largest body of `POST /v1/erase`, in bytes: three times the size of as many addresses of
 * usual length.
 */
export const ERASE_BODY_BYTES = 2_097_152

/** Concurrent erasures of an account at most: each reads all that the account has. */
export const ERASURES_RUNNING_MAX = 100

const SHAPES: Readonly<Record<Check, string>> = {
  email: 'an address, or several in an array',
  phone: 'a number in E.164 form such as "+442079460123", or several in an array',
  ip: 'an IPv4 or IPv6 address, or several in an array',
  domain: 'a domain name, or several in an array',
}

const IS_READABLE: Readonly<Record<Check, (value: string) => boolean>> = {
  ...READABLE,
  email: (value) => value.trim() !== '',
  domain: (value) => value !== '' && READABLE.domain(value),
}

function valuesOf(check: Check) {
  const wanted = `\`${check}\` takes ${SHAPES[check]}.`
  const one = z
    .string(wanted)
    .max(VALUE_MAX_CHARS, `A value has at most ${VALUE_MAX_CHARS} characters.`)
    .refine(IS_READABLE[check], wanted)
  const several = z
    .array(one, wanted)
    .max(ERASED_VALUES_MAX, `An erasure takes at most ${ERASED_VALUES_MAX} values; send several.`)
  return z.union([one, several], wanted).optional()
}

/** `POST /v1/erase`: the values to erase. */
export const eraseRequest = z
  .strictObject({
    email: valuesOf('email'),
    phone: valuesOf('phone'),
    ip: valuesOf('ip'),
    domain: valuesOf('domain'),
    include_addresses: z
      .boolean('Send `include_addresses` as true or false.')
      .meta({ description: 'Erases all addresses at the domains, too.' })
      .optional(),
  })
  .refine((body) => countOf(body) > 0, 'Send at least one of `email`, `phone`, `ip` and `domain`.')
  .refine(
    (body) => countOf(body) <= ERASED_VALUES_MAX,
    `An erasure takes at most ${ERASED_VALUES_MAX} values; send several.`,
  )
  .refine(
    (body) => body.include_addresses !== true || listOf(body.domain).length > 0,
    '`include_addresses` is about the addresses of a domain; send `domain`.',
  )
/** The values to erase, as sent. */
export type EraseRequest = z.infer<typeof eraseRequest>

/** The values of a request, by check. */
export type ErasedValues = Readonly<Record<Check, readonly string[]>>

/** The values of a request without duplicates. */
export function erasedValuesOf(request: EraseRequest): ErasedValues {
  const once = (check: Check): readonly string[] => [...new Set(listOf(request[check]))]
  return { email: once('email'), phone: once('phone'), ip: once('ip'), domain: once('domain') }
}

function countOf(body: { readonly [C in Check]?: string | readonly string[] | undefined }): number {
  return CHECKS.reduce((sum, check) => sum + listOf(body[check]).length, 0)
}

function listOf(values: string | readonly string[] | undefined): readonly string[] {
  if (values === undefined) return []
  return typeof values === 'string' ? [values] : values
}

/** States of an erasure. */
export const ERASURE_STATES = ['running', 'completed'] as const
/** State of an erasure. */
export type ErasureState = (typeof ERASURE_STATES)[number]

const count = (description: string) => z.int().min(0).meta({ description })

/** Erased entries so far, by store. */
export const erasureCounts = z.strictObject({
  batches: count('Batches in which something was blanked.'),
  rows: count('Rows of batches in which something was blanked.'),
  uploads: count('Uploads that were removed.'),
  results: count('Result files that were written anew.'),
  answers: count('Kept answers that were emptied.'),
  deliveries: count('Messages to webhooks in which something was blanked.'),
  facts: count('Remembered facts that were removed: verdicts of mailboxes, registrations.'),
  purchases: count('Bought facts about numbers that were removed.'),
})
/** Erased entries, by store. */
export type ErasureCounts = z.infer<typeof erasureCounts>

/** An erasure as the API shows it: without the values. */
export const erasureView = z.strictObject({
  id: z.string(),
  status: z.enum(ERASURE_STATES),
  values: count('How many values were sent.'),
  include_addresses: z.boolean(),
  created_at: z.iso.datetime(),
  /** When the last trace of the values was removed; null until then. */
  completed_at: z.iso.datetime().nullable(),
  erased: erasureCounts,
})
/** The receipt of an erasure. */
export type ErasureView = z.infer<typeof erasureView>

/** Receipts of a page of `GET /v1/erase`, by default and at most. */
export const ERASURE_PAGE = { default: 20, max: 100 } as const

/** One page of `GET /v1/erase`. */
export const erasurePage = z.strictObject({
  data: z.array(erasureView),
  next_cursor: z.string().nullable(),
})
/** Receipts, newest first, and where the next page begins. */
export type ErasurePage = z.infer<typeof erasurePage>
