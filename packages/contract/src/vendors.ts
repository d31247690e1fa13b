import type { Product } from './products.ts'

/**
 * Other email verification services whose exports are supported, with the spelling of their names.
 */
export const VENDORS = {
  zerobounce: 'ZeroBounce',
  neverbounce: 'NeverBounce',
  kickbox: 'Kickbox',
  emailable: 'Emailable',
  bouncer: 'Bouncer',
} as const
/** Other email verification service whose exports are supported. */
export type Vendor = keyof typeof VENDORS

/**
 * Maximum age in days of an accepted verdict, and the number of rows with one that are checked
 * nevertheless.
 */
export const KNOWN = { maxDays: 365, askedRows: 50 } as const

/** Products that, for a row with nothing but an email address, check only the mailbox. */
const PRODUCTS_WITH_KNOWN: readonly Product[] = ['email', 'deliverability', 'contact-intel']

/** Whether a batch of a product can accept verdicts of another service. */
export function takesKnown(product: Product): boolean {
  return PRODUCTS_WITH_KNOWN.includes(product)
}

/** The error for a product that accepts no verdicts of another service. */
export function knownUnfit(product: Product): string {
  return `\`known\` goes by what another service said of an address; it is taken with ${PRODUCTS_WITH_KNOWN.join(', ')}, not with ${product}.`
}
