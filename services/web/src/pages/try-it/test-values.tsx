import {
  MAGIC_DOMAINS,
  MAGIC_EMAILS,
  MAGIC_IPS,
  MAGIC_PHONES,
} from '@plumbline/contract/magic-values'
import { PRODUCT_PLANS, type Check, type Product } from '@plumbline/contract/products'
import type { JSX } from 'preact'
import { Table } from '../../components/table.tsx'
import { LABELS } from './values.ts'
import { reasonText } from './reason-text.ts'

/** Magic values and their reasons, by check. */
const VALUES: Readonly<
  Record<Check, readonly { readonly value: string; readonly reason: string }[]>
> = {
  email: MAGIC_EMAILS,
  phone: MAGIC_PHONES,
  ip: MAGIC_IPS,
  domain: MAGIC_DOMAINS,
}

/** The values for which test keys give fixed results. */
export function TestValues({ product }: { readonly product: Product }): JSX.Element {
  const check = PRODUCT_PLANS[product].required
  return (
    <>
      <p class="muted">
        With a test key, each of these gives its own result. Nothing is looked up and no credits are
        taken.
      </p>
      <details class="details">
        <summary>Show the values</summary>
        <Table
          caption="Test values"
          isStacked
          rows={VALUES[check]}
          keyOf={({ value }) => value}
          columns={[
            { title: LABELS[check], cell: ({ value }) => <code class="wrap">{value}</code> },
            { title: 'Stands for', cell: ({ reason }) => reasonText(check, reason) },
          ]}
        />
      </details>
    </>
  )
}
