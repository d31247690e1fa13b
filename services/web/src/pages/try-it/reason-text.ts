import type { Check } from '@plumbline/contract/products'
import { REASONS } from '@plumbline/contract/reasons'

/** The sentence that the reference has for a reason. */
export function reasonText(check: Check, reason: string): string {
  const sentences: Readonly<Record<string, string>> = REASONS[check]
  return sentences[reason] ?? reason.replaceAll('_', ' ')
}
