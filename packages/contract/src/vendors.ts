import type { Product } from './products.ts'

/** Services whose exports are supported, and how they write their names. */
export const VENDORS = {
  zerobounce: 'ZeroBounce',
  neverbounce: 'NeverBounce',
  kickbox: 'Kickbox',
  emailable: 'Emailable',
  bouncer: 'Bouncer',
} as const
/** One of them. */
export type Vendor = keyof typeof VENDORS

/** Maximum age in days of an accepted verdict, and rows with one that are checked all the same. */
export const KNOWN = { maxDays: 365, askedRows: 50 } as const

/** Products that check only the mailbox of a row with nothing but an email address. */
const PRODUCTS_WITH_KNOWN: readonly Product[] = ['email', 'deliverability', 'contact-intel']

/** Whether a batch of a product can accept verdicts of another service. */
export function takesKnown(product: Product): boolean {
  return PRODUCTS_WITH_KNOWN.includes(product)
}

/** The error for a product that cannot. */
export function knownUnfit(product: Product): string {
  return `\`known\` goes by what another service said of an address; it is taken with ${PRODUCTS_WITH_KNOWN.join(', ')}, not with ${product}.`
}
