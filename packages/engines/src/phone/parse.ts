import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max'

/** Longest text that is read as a number. */
const TEXT_MAX = 64

/**
 * Reads a phone number as people write it into E.164, or null where it cannot be read.
 *
 * International forms (`+44 20 ...`, `0044 20 ...`, `tel:+44-20-...`) need no country; national ones are read in
 * `defaultCountry` (ISO alpha-2). Where that gives no valid number, digits are tried as an international number
 * that lost its plus, as spreadsheets do. An extension is dropped. Being readable is not being valid: `+4312` reads.
 */
export function parsePhone(text: string, defaultCountry?: string): { e164: string } | null {
  if (text.length > TEXT_MAX) return null
  const plain = text.trim().replace(/^tel:/i, '')
  const country = defaultCountry?.toUpperCase()
  const known = country !== undefined && isSupportedCountry(country) ? country : undefined
  const number = parsePhoneNumberFromString(plain, {
    extract: false,
    ...(known === undefined ? {} : { defaultCountry: known }),
  })
  const read = number !== undefined && isE164(number.number) ? { e164: number.number } : null
  if (plain.startsWith('+') ? read !== null : number?.isValid() === true) return read
  return internationalOf(plain) ?? read
}

function internationalOf(plain: string): { e164: string } | null {
  const digits = plain.replace(/[\s\-./()\u00a0\u2010-\u2015]/g, '')
  if (digits.startsWith('+')) return isE164(digits) ? { e164: digits } : null
  if (!/^\d+$/.test(digits)) return null
  const e164 = `+${digits.replace(/^00/, '')}`
  if (digits.startsWith('00') && isE164(e164)) return { e164 }
  const number = parsePhoneNumberFromString(e164, { extract: false })
  return number?.isValid() === true && isE164(number.number) ? { e164: number.number } : null
}

/** A plus and 1 to 15 digits. Source: decision 5. */
function isE164(text: string): boolean {
  return /^\+\d{1,15}$/.test(text)
}
