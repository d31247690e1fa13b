import { isSupportedCountry, type CountryCode } from 'libphonenumber-js/max'
import { ListError } from './list-error.ts'

/** The country of phones without a country code. Throws `ListError` for one that has no phone numbers. */
export function countryOf(code: string | null | undefined): CountryCode | undefined {
  const upper = code?.toUpperCase()
  if (upper === undefined) return undefined
  if (!isSupportedCountry(upper)) {
    throw new ListError(
      'bad_request',
      `default_country is ${JSON.stringify(code)}, under which no phone numbers are known; send an ISO 3166-1 code such as GB.`,
    )
  }
  return upper
}
