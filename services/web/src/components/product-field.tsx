import { PRODUCTS, type Product } from '@plumbline/contract/products'
import type { ComponentChildren, JSX } from 'preact'
import { PRODUCT_NAMES } from './batch-state.tsx'
import { SelectField } from './field.tsx'

/** A select field for a product. */
export function ProductField({
  value,
  onChange,
  hint,
  disabled = false,
}: {
  readonly value: Product
  readonly onChange: (product: Product) => void
  readonly hint?: ComponentChildren
  readonly disabled?: boolean
}): JSX.Element {
  return (
    <SelectField
      label="Product"
      value={value}
      choices={PRODUCTS.map((product) => ({ value: product, text: PRODUCT_NAMES[product] }))}
      disabled={disabled}
      onChange={(chosen) => onChange(PRODUCTS.find((one) => one === chosen) ?? value)}
      hint={hint}
    />
  )
}
