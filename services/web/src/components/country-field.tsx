import { COUNTRIES } from '@plumbline/contract/countries'
import type { JSX } from 'preact'
import { countryNames } from '../country-names.ts'
import { SelectField } from './field.tsx'

/** The country of phone numbers without country code; empty if none is chosen. */
export function CountryField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (code: string) => void
}): JSX.Element {
  return (
    <SelectField
      label="Country"
      value={value}
      choices={[{ value: '', text: 'None' }, ...countryNames(COUNTRIES)]}
      onChange={onChange}
      hint="Of phone numbers without their country code."
    />
  )
}
