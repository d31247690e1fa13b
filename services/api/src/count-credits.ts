import type { Product } from '@plumbline/contract/products'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Counts the credits of single calls and of refunds. */
export type CreditCounter = (
  product: Product,
  credits: { readonly charged: number; readonly back: number },
) => void

/** Makes the counters of a program; one for each program. */
export function createCreditCounter(metrics: Metrics): CreditCounter {
  const charged = metrics.counter('credits_charged_total', 'Credits that single calls cost.', [
    'product',
  ])
  const refunded = metrics.counter(
    'credits_refunded_total',
    'Credits that single calls were given back: they failed, or what they found out costs nothing.',
    ['product'],
  )
  return (product, credits) => {
    charged.inc({ product }, credits.charged)
    refunded.inc({ product }, credits.back)
  }
}
