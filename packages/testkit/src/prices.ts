import type { Check, Product } from '@plumbline/contract/products'

/**
 * Price in credits of each product for the given parts: every row of spec.md 8.1, and those that
 * decision 10 defines.
 */
export const PRICES: readonly (readonly [Product, readonly Check[], number])[] = [
  ['email', ['email'], 1],
  ['ip', ['ip'], 1],
  ['phone', ['phone'], 2],
  ['domain', ['domain'], 2],
  ['deliverability', ['email'], 1],
  ['deliverability', ['email', 'phone'], 3],
  ['contact-intel', ['email'], 1],
  ['contact-intel', ['email', 'ip'], 2],
  ['contact-intel', ['email', 'phone'], 3],
  ['contact-intel', ['email', 'domain'], 3],
  ['contact-intel', ['email', 'phone', 'domain', 'ip'], 4],
  ['contact-intel', ['email', 'ip', 'phone'], 4],
  ['contact-intel', ['email', 'ip', 'domain'], 4],
  ['contact-intel', ['email', 'phone', 'domain'], 4],
  ['fraud-signals', ['email'], 1],
  ['fraud-signals', ['email', 'ip'], 2],
  ['fraud-signals', ['email', 'phone'], 3],
  ['fraud-signals', ['email', 'domain'], 3],
  ['fraud-signals', ['email', 'ip', 'phone'], 4],
  ['fraud-signals', ['email', 'ip', 'domain'], 4],
  ['fraud-signals', ['email', 'phone', 'domain'], 5],
  ['fraud-signals', ['email', 'phone', 'ip', 'domain'], 5],
]
