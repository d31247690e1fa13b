import type { Explain } from '@plumbline/contract/explain'
import type { Check } from '@plumbline/contract/products'

/** Result of a lookup. */
export type Lookup = Readonly<Record<string, unknown>> & { readonly explain?: Explain }

/** Entered values, by check. */
export type Values = Readonly<Partial<Record<Check, string>>>

/** Label of the input of each check. */
export const LABELS: Readonly<Record<Check, string>> = {
  email: 'Email',
  phone: 'Phone',
  ip: 'IP',
  domain: 'Domain',
}

/** An example value for each check, to show its form. */
export const EXAMPLES: Readonly<Record<Check, string>> = {
  email: 'ada@example.com',
  phone: '+442079460123',
  ip: '8.8.8.8',
  domain: 'example.com',
}
