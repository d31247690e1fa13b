import type { Product } from './products.ts'

/** Services whose exports are understood, and how they write their names. */
export const VENDORS = {
  zerobounce: 'ZeroBounce',
  neverbounce: 'NeverBounce',
  kickbox: 'Kickbox',
  emailable: 'Emailable',
  bouncer: 'Bouncer',
} as const
/** One of them. */
export type Vendor = keyof typeof VENDORS

/** Days that a verdict of theirs may count at most, and rows with one that are asked all the same. */
export const KNOWN = { maxDays: 365, askedRows: 50 } as const

/** Products that ask nothing of a row with an address alone but whether it takes mail. */
const PRODUCTS_WITH_KNOWN: readonly Product[] = ['email', 'deliverability', 'contact-intel']

/** Whether a batch of a product can go by the verdicts of another service. */
export function takesKnown(product: Product): boolean {
  return PRODUCTS_WITH_KNOWN.includes(product)
}

/** The sentence for a product that cannot. */
export function knownUnfit(product: Product): string {
  return `\`known\` goes by what another service said of an address; it is taken with ${PRODUCTS_WITH_KNOWN.join(', ')}, not with ${product}.`
}
