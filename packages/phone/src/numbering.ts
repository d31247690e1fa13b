import type { PhoneFacts } from '@plumbline/contract/outcome'
import { parsePhoneNumberFromString, type PhoneNumber } from 'libphonenumber-js/max'
import type { CountryNames } from '@plumbline/datasets/country-names'
import type { PhonePrefixes } from './prefixes.ts'

/** Facts of a number by the numbering plan, without an HLR lookup. */
export interface PhoneNumbering {
  readonly facts: PhoneFacts
  /** `impossible`: wrong length or country code. `unused`: in no range that is in use. */
  readonly validity: 'valid' | 'unused' | 'impossible'
  readonly timezones: readonly string[]
  /** Calling code without its plus; null if there is none. */
  readonly callingCode: string | null
  /** Reserved for fiction: valid by the plan, assigned to nobody. */
  readonly fictional: boolean
}

/** Tables behind the numbering plan. */
export interface NumberingTables {
  readonly prefixes: PhonePrefixes
  readonly countries: CountryNames
}

/** libphonenumber's types in our spelling, and the line type that each proves (decision 26). */
const TYPES = {
  MOBILE: ['mobile', 'mobile'],
  FIXED_LINE: ['fixed_line', 'landline'],
  FIXED_LINE_OR_MOBILE: ['fixed_line_or_mobile', 'unknown'],
  VOIP: ['voip', 'voip'],
  TOLL_FREE: ['toll_free', 'unknown'],
  PREMIUM_RATE: ['premium_rate', 'unknown'],
  SHARED_COST: ['shared_cost', 'unknown'],
  PERSONAL_NUMBER: ['personal_number', 'unknown'],
  PAGER: ['pager', 'unknown'],
  UAN: ['uan', 'unknown'],
  VOICEMAIL: ['voicemail', 'unknown'],
} as const satisfies Record<string, readonly [string, PhoneFacts['lineType']]>

/**
 * Numbers of the North American plan reserved for fiction: 555-0100 to 555-0199. Source: NANPA, 555
 * line numbers.
 */
const FICTIONAL = /^\+1\d{3}55501\d{2}$/

/** Parses a number in E.164 by the numbering plan. */
export function readNumbering(tables: NumberingTables, e164: string): PhoneNumbering {
  const number = parsePhoneNumberFromString(e164, { extract: false })
  // A number with too many or too few digits for its calling code is parsed as another number.
  if (number === undefined || number.number !== e164) return impossible(tables, e164, number)
  const type = number.getType()
  const valid = type !== undefined || number.isValid()
  const country = number.country ?? null
  const countryName = country === null ? null : tables.countries.of(country)
  const carrier = valid ? tables.prefixes.carrierOf(e164) : null
  const [numberType, lineType] = type === undefined ? ([null, 'unknown'] as const) : TYPES[type]
  return {
    facts: {
      number: e164,
      valid,
      reachable: null,
      country: countryName,
      countryCode: country,
      nationalFormat: number.formatNational(),
      lineType,
      numberType,
      carrier,
      carrierCountry: carrier === null ? null : countryName,
      ported: null,
      roaming: null,
    },
    validity: valid ? 'valid' : number.isPossible() ? 'unused' : 'impossible',
    timezones: valid ? tables.prefixes.timezonesOf(e164) : [],
    callingCode: number.countryCallingCode,
    fictional: FICTIONAL.test(e164),
  }
}

function impossible(
  tables: NumberingTables,
  e164: string,
  number: PhoneNumber | undefined,
): PhoneNumbering {
  const country = number?.country ?? null
  return {
    facts: {
      number: e164,
      valid: false,
      reachable: null,
      country: country === null ? null : tables.countries.of(country),
      countryCode: country,
      nationalFormat: null,
      lineType: 'unknown',
      numberType: null,
      carrier: null,
      carrierCountry: null,
      ported: null,
      roaming: null,
    },
    validity: 'impossible',
    timezones: [],
    callingCode: number?.countryCallingCode ?? null,
    fictional: false,
  }
}
