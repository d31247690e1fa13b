import type { UsageView } from '@plumbline/contract/usage'
import { PRODUCTS, type Product } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { daysBetween } from '../days.ts'
import * as format from '../format.ts'
import { PRODUCT_NAMES } from './batch-state.tsx'
import { BarChart } from './charts.tsx'

/**
 * Chart of the credits of each day, by product; the usage must be grouped by day and product at
 * least.
 */
export function UsageBars({ usage }: { readonly usage: UsageView }): JSX.Element {
  const there = PRODUCTS.filter((product) => usage.data.some((row) => row.product === product))
  const credits = creditsByDay(usage)
  return (
    <BarChart
      title="Credits used on each day; the table below has the same figures."
      series={there.map((product) => PRODUCT_NAMES[product])}
      bars={daysBetween(usage.from, usage.to).map((day) => ({
        name: format.shortDay(day),
        // A refund of another day's call may leave less than nothing.
        values: there.map((product) => Math.max(0, credits.get(keyOf(day, product)) ?? 0)),
      }))}
    />
  )
}

function creditsByDay(usage: UsageView): ReadonlyMap<string, number> {
  const credits = new Map<string, number>()
  for (const { day, product, credits: used } of usage.data) {
    if (day === undefined || product === undefined) continue
    const key = keyOf(day, product)
    credits.set(key, (credits.get(key) ?? 0) + used)
  }
  return credits
}

function keyOf(day: string, product: Product): string {
  return `${day} ${product}`
}
