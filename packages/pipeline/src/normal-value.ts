import { asciiName } from '@plumbline/contract/domain-name'
import { composed } from '@plumbline/contract/composed-text'
import type { Check } from '@plumbline/contract/products'
import { inAsciiDigits } from '@plumbline/intake/ascii-digits'
import { bareText, inLowerCase, readIp, withoutDecimals } from '@plumbline/intake/subject'

/**
 * Normal form for comparison: domains as A-labels in lower case, local parts in lower case (hardly
 * any mail host distinguishes case), IPv6 as in RFC 5952.
 */
export function normalValue(check: Check, value: string): string {
  const text = bareText(value)
  switch (check) {
    case 'email': {
      const at = text.lastIndexOf('@')
      if (at < 0) return composed(text).toLowerCase()
      return `${composed(text.slice(0, at)).toLowerCase()}@${normalDomain(text.slice(at + 1))}`
    }
    case 'phone':
      return digitsOf(text)
    case 'ip':
      return normalIp(text)
    case 'domain':
      return normalDomain(text)
  }
}

function normalIp(text: string): string {
  const read = readIp(text)
  return read.subject === undefined ? text : (read.key ?? read.subject)
}

/** A domain in its normal form. */
export function normalDomain(text: string): string {
  const name = withoutLastDots(inLowerCase(text))
  // Plain ASCII names are the most frequent.
  return /^[a-z0-9.-]*$/.test(name) ? name : asciiName(name) || name
}

/** A name without the dots at its end. */
export function withoutLastDots(text: string): string {
  // The lookbehind keeps a long run that is not at the end from being tried at each of its dots.
  return text.replace(/(?<!\.)\.+$/, '')
}

/** The digits of a phone number, in whatever way it is written. */
export function digitsOf(text: string): string {
  return withoutDecimals(inAsciiDigits(text)).replaceAll(/\D/g, '')
}
