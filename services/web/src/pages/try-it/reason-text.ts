import type { Check } from '@plumbline/contract/products'
import { REASONS } from '@plumbline/contract/reasons'

/** The sentence for a reason in the API reference. */
export function reasonText(check: Check, reason: string): string {
  const sentences: Readonly<Record<string, string>> = REASONS[check]
  return sentences[reason] ?? reason.replaceAll('_', ' ')
}
