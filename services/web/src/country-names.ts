import type { Choice } from './components/field.tsx'

/** Codes of countries with their names in the language of the browser, sorted by name. */
export function countryNames(codes: readonly string[]): readonly Choice[] {
  const names = new Intl.DisplayNames(undefined, { type: 'region' })
  const { compare } = new Intl.Collator()
  return codes
    .map((value) => ({ value, text: names.of(value) ?? value }))
    .toSorted((one, other) => compare(one.text, other.text))
}
