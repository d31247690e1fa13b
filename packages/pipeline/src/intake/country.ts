import { isSupportedCountry, type CountryCode } from 'libphonenumber-js/max'
import { ListError } from './list-error.ts'

/** The country of phones without a country code. Throws `ListError` for what is no country. */
export function countryOf(code: string | null | undefined): CountryCode | undefined {
  const upper = code?.toUpperCase()
  if (upper === undefined) return undefined
  if (!isSupportedCountry(upper)) {
    throw new ListError(
      'bad_request',
      `default_country is ${JSON.stringify(code)}; expected is a country of two letters, such as DE.`,
    )
  }
  return upper
}
