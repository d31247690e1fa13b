/** The four kinds of lookup; each has one engine. */
export const CHECKS = ['email', 'phone', 'ip', 'domain'] as const
/** Kind of a lookup. */
export type Check = (typeof CHECKS)[number]

/**
 * Checks whose outcomes may be bought from an outside provider: when a batch is canceled, purchases
 * in flight are awaited and charged.
 */
export const PURCHASED_CHECKS: readonly Check[] = ['phone']

/** The seven products, one for each endpoint under `/v1`. */
export const PRODUCTS = [
  'email',
  'ip',
  'phone',
  'domain',
  'deliverability',
  'contact-intel',
  'fraud-signals',
] as const
/** Product: one endpoint under `/v1`. */
export type Product = (typeof PRODUCTS)[number]

/**
 * Depth of an email check: `basic` probes the recipient, `extended` also whether the domain is
 * accept-all.
 */
export type Depth = 'basic' | 'extended'

/** The checks of a product in billing order, and which of them are required. */
export interface ProductPlan {
  readonly required: Check
  readonly optional: readonly Check[]
  readonly depth: Depth
  readonly capCredits: number
}

/** Source: spec.md sections 4 and 8.1, decision 10. */
export const PRODUCT_PLANS: Readonly<Record<Product, ProductPlan>> = {
  email: { required: 'email', optional: [], depth: 'basic', capCredits: 1 },
  ip: { required: 'ip', optional: [], depth: 'basic', capCredits: 1 },
  phone: { required: 'phone', optional: [], depth: 'basic', capCredits: 2 },
  domain: { required: 'domain', optional: [], depth: 'basic', capCredits: 2 },
  deliverability: { required: 'email', optional: ['phone'], depth: 'extended', capCredits: 3 },
  'contact-intel': {
    required: 'email',
    optional: ['phone', 'ip', 'domain'],
    depth: 'basic',
    capCredits: 4,
  },
  'fraud-signals': {
    required: 'email',
    optional: ['phone', 'ip', 'domain'],
    depth: 'basic',
    capCredits: 5,
  },
}

/** Credits of one part. Source: decision 10. */
const PART_CREDITS: Readonly<Record<Check, number>> = {
  email: 1,
  ip: 1,
  phone: 2,
  domain: 2,
}

/** The checks of a product, the required one first. */
export function checksOf(product: Product): readonly Check[] {
  const plan = PRODUCT_PLANS[product]
  return [plan.required, ...plan.optional]
}

/** The checks that something is given for. */
export function checksGiven(of: { readonly [C in Check]?: unknown }): readonly Check[] {
  return CHECKS.filter((check) => of[check] !== undefined)
}

/** Price in credits of a product with the supplied parts: min(cap, sum of parts). */
export function priceCredits(product: Product, supplied: Iterable<Check>): number {
  let sum = 0
  for (const check of supplied) sum += PART_CREDITS[check]
  return Math.min(PRODUCT_PLANS[product].capCredits, sum)
}
