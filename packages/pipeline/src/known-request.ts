import type { BatchChange } from '@plumbline/contract/batch-change'
import { daysOf, KNOWN_AT_ALONE } from '@plumbline/contract/known-verdicts'
import { Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import { knownUnfit, takesKnown } from '@plumbline/contract/vendors'
import type { BatchRequest } from '@plumbline/db/tables/batches'

/**
 * The accepted verdicts of another service, in the form of the batch's request; null removes the
 * option.
 */
export interface KnownRequest {
  readonly known: number | null
  readonly knownAt: string | null
}

/**
 * The option after a change of the batch. It is dropped if the new product does not support it.
 *
 * @throws Problem `bad_request` if the requested option does not fit
 */
export function knownRequest(
  asked: Pick<BatchRequest, 'known' | 'knownAt'>,
  change: Pick<BatchChange, 'known' | 'known_at'>,
  product: Product,
): KnownRequest {
  const { known: text, known_at: day } = change
  const isAskedNow = typeof text === 'string'
  if (isAskedNow && !takesKnown(product)) throw new Problem('bad_request', knownUnfit(product))
  const before = takesKnown(product) ? (asked.known ?? null) : null
  const known = text === undefined ? before : text === null ? null : daysOf(text)
  if (known === null && typeof day === 'string') throw new Problem('bad_request', KNOWN_AT_ALONE)
  if (known === null) return { known, knownAt: null }
  return { known, knownAt: day === undefined ? (asked.knownAt ?? null) : day }
}
