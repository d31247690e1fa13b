import { z } from 'zod'

/**
 * Plans of a new installation: credits a month, and whether they have test keys. Source: spec.md 5
 * and 8.2.
 */
export const PLANS = {
  free: { monthlyCredits: 200, testKeys: false },
  starter: { monthlyCredits: 5_000, testKeys: true },
  pro: { monthlyCredits: 25_000, testKeys: true },
} as const
/** Name of a plan; the operator may have others than those above. */
export type Plan = string

/** Add-on packs of a new installation. Source: spec.md 8.3. */
export const PACKS = {
  starter: { credits: 1_000, priceUsd: 25 },
  growth: { credits: 5_000, priceUsd: 100 },
  scale: { credits: 20_000, priceUsd: 350 },
} as const
/** Name of an add-on pack; the operator may have others than those above. */
export type Pack = string

/** Form of the name of a plan or pack. */
export const OFFER_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/

/** Last place of a plan or pack in lists that its column can hold. */
export const OFFER_POSITION_MAX = 32_767

/** Largest number of credits in one plan, pack or grant that the ledger and the API accept. */
export const CREDITS_MAX = 1_000_000_000

/**
 * A price as people write it in US dollars, such as `25` or `24.90`, in cents; undefined if it is
 * none.
 */
export function priceCentsOf(text: string): number | undefined {
  return /^\d{1,7}(?:\.\d\d)?$/.test(text) ? Math.round(Number(text) * 100) : undefined
}

/** Limits that a plan or an account may override; otherwise the installation's settings apply. */
export const OWN_LIMITS = [
  'calls_per_second',
  'calls_burst',
  'unfinished_batches',
  'upload_rows',
  'hlr_numbers_per_day',
] as const
/** Limit that a plan or an account may override. */
export type OwnLimit = (typeof OWN_LIMITS)[number]
/**
 * Bounds of a limit: an account without batches or purchases makes sense, one without calls does
 * not; the largest is what its column can hold.
 */
export function ownLimitBounds(name: OwnLimit): { readonly min: 0 | 1; readonly max: number } {
  const mayBeNone = name === 'unfinished_batches' || name === 'hlr_numbers_per_day'
  return { min: mayBeNone ? 0 : 1, max: 2_147_483_647 }
}
/** Overridden limits; null: the limit of the plan, or the installation's setting. */
export type OwnLimits = { readonly [Name in OwnLimit]: number | null }

/**
 * Modes of keys: production keys (`live`) spend credits, test keys get the responses of magic
 * values.
 */
export const KEY_MODES = ['live', 'test'] as const
/** Mode of a key. */
export type KeyMode = (typeof KEY_MODES)[number]

/** `active` unless the operator suspended it, or it was closed for good. */
export const ACCOUNT_STATES = ['active', 'suspended', 'closed'] as const
/** State of an account. */
export type AccountState = (typeof ACCOUNT_STATES)[number]

/** Characters of the reason of a suspension at most, as its users are told. */
export const SUSPENSION_REASON_CHARS = 500

const priceUsd = z.number().min(0).nullable().meta({ description: 'Null where one has to ask.' })

/** Response of `GET /v1/plans`: the offered plans and packs, and the contact for them. */
export const offersView = z.strictObject({
  plans: z.array(
    z.strictObject({
      plan: z.string(),
      monthly_credits: z.int().min(0),
      test_keys: z.boolean(),
      price_usd: priceUsd.meta({ description: 'A month; null where one has to ask.' }),
      current: z.boolean().meta({ description: 'Whether the account is on it.' }),
    }),
  ),
  packs: z.array(
    z.strictObject({
      pack: z.string(),
      credits: z.int().min(1),
      price_usd: priceUsd.meta({ description: 'Once; null where one has to ask.' }),
    }),
  ),
  contact_url: z.string().nullable().meta({ description: 'Whom to ask about plans and packs.' }),
})
/** The offered plans and packs. */
export type OffersView = z.infer<typeof offersView>
