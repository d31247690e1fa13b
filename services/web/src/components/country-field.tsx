import { COUNTRIES } from '@plumbline/contract/countries'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { SelectField, type Choice } from './field.tsx'

/** The country of phone numbers without country code; empty if none is chosen. */
export function CountryField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (code: string) => void
}): JSX.Element {
  const choices = useMemo(() => [{ value: '', text: 'None' }, ...countries()], [])
  return (
    <SelectField
      label="Country"
      value={value}
      choices={choices}
      onChange={onChange}
      hint="Of phone numbers without their country code."
    />
  )
}

/** The countries with their names in the language of the browser, sorted by name. */
function countries(): readonly Choice[] {
  const names = new Intl.DisplayNames(undefined, { type: 'region' })
  const { compare } = new Intl.Collator()
  return COUNTRIES.map((value) => ({ value, text: names.of(value) ?? value })).toSorted(
    (one, other) => compare(one.text, other.text),
  )
}
