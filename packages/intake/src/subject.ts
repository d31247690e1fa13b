import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'
import { asciiName } from '@plumbline/contract/domain-name'
import type { Check } from '@plumbline/contract/products'
import { VALUE_MAX_CHARS } from '@plumbline/contract/requests'
import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { inAsciiDigits } from './ascii-digits.ts'
import { wrappedAddress } from './wrapped-address.ts'

/** The subject in a cell, or why it cannot be read. */
export type Reading =
  | {
      /** The value as it would be sent in a single call. */
      readonly subject: string
      /** Its normal form, if that differs: equal for equal subjects. */
      readonly key?: string
      readonly note?: string
    }
  | { readonly subject?: undefined; readonly fault: string }

/** What spreadsheets, databases and people write where there is no value; lower case. */
const NO_VALUE = new Set(
  '- -- --- – — ? n/a #n/a n.a. na nan nil none (none) null (null) <null> \\n undefined'.split(' '),
)
const NO_VALUE_CHARS = Math.max(...[...NO_VALUE].map((word) => word.length))

/** Whether a trimmed cell holds no value: it is empty, or a word such as `n/a` in its place. */
export function isNoValue(cell: string): boolean {
  return cell === '' || (cell.length <= NO_VALUE_CHARS && NO_VALUE.has(cell.toLowerCase()))
}

/** A cell that a program has written as a formula so that it stays a text: `="0123"`. */
const QUOTED_TEXT = /^="([^"]*)"$/

/**
 * Characters that are copied with a value and not seen, in a class of a regular expression: marks of
 * direction, the zero-width space and the word joiner.
 */
export const UNSEEN = String.raw`\p{Bidi_Control}\u200b\u2060`

// The lookbehind keeps a long run that is not at the end from being tried at each of its characters.
const UNSEEN_AROUND = new RegExp(`^[\\s${UNSEEN}]+|(?<![\\s${UNSEEN}])[\\s${UNSEEN}]+$`, 'gu')
const LAST_ASCII = 0x7f

/**
 * The text in a cell, without blanks and unseen characters around it and without a formula that only
 * quotes it.
 */
export function cellText(cell: string): string {
  const text = bareText(cell)
  if (!text.startsWith('="')) return text
  const quoted = QUOTED_TEXT.exec(text)?.[1]
  return quoted === undefined ? text : bareText(quoted)
}

/** A text without blanks and unseen characters around it. */
export function bareText(cell: string): string {
  const text = cell.trim()
  const isPlain =
    text === '' ||
    (text.charCodeAt(0) <= LAST_ASCII && text.charCodeAt(text.length - 1) <= LAST_ASCII)
  return isPlain ? text : text.replaceAll(UNSEEN_AROUND, '')
}

/** Separator of several values in one cell, as written by Google Contacts. */
const SEVERAL = ' ::: '

/** The first of the values in a cell. */
export function firstValue(cell: string): string {
  const end = cell.indexOf(SEVERAL)
  return end === -1 ? cell : cell.slice(0, end)
}

/** Parses the cells of one check; `text` is that of `cellText`, and not empty. */
export type CellReader = (text: string) => Reading

/**
 * The parsers of a file's cells; `defaultCountry` (ISO alpha-2) applies to phone numbers without a
 * country code. For a country without a numbering plan no national number is accepted.
 */
export function cellReaders(defaultCountry: string | undefined): Record<Check, CellReader> {
  return {
    email: (text) => read(text, readEmailCell),
    phone: (text) => read(text, (cell) => withDoubt(readPhone(cell, defaultCountry), cell)),
    ip: (text) => read(text, readIp),
    domain: (text) => read(text, readDomain),
  }
}

function read(text: string, reader: CellReader): Reading {
  if (text.length > VALUE_MAX_CHARS) return { fault: `is over ${VALUE_MAX_CHARS} characters` }
  if (!text.includes(SEVERAL)) return reader(text)
  const values = text.split(SEVERAL)
  const first = reader((values[0] ?? '').trim())
  return first.subject === undefined
    ? first
    : { ...first, note: `holds ${values.length} values, of which the first was checked` }
}

/** A number without a plus whose last six digits a spreadsheet may have lost: `4.47912E+11`. */
const MAY_BE_ROUNDED = /^[1-9]\d{4,8}000000$/

function withDoubt(reading: Reading, text: string): Reading {
  if (!text.endsWith('000000') || !MAY_BE_ROUNDED.test(text)) return reading
  if (reading.subject === undefined) return reading
  return { ...reading, note: 'ends in zeros, as one does that a spreadsheet has rounded' }
}

/** The address in a cell, also with a name, `mailto:` or quotes around it. */
function readEmailCell(text: string): Reading {
  const wrapped = wrappedAddress(text)
  const reading = readEmail(wrapped?.address ?? text)
  return wrapped === undefined || reading.subject === undefined
    ? reading
    : { ...reading, note: wrapped.note }
}

/**
 * Accepts any text, since the check judges it; compared with its domain in lower case and A-labels.
 * Source: decision 6.
 */
export function readEmail(text: string): Reading {
  const at = text.lastIndexOf('@') + 1
  if (at === 0) return { subject: text }
  const domain = text.slice(at)
  const name = comparedName(inLowerCase(domain))
  return name === domain ? { subject: text } : { subject: text, key: text.slice(0, at) + name }
}

/**
 * A lower-case name in A-labels if it is written as their U-labels: other spellings of an
 * international name, such as decomposed accents, may be judged differently.
 */
function comparedName(name: string): string {
  if (!/[^ -~]/.test(name)) return name
  const ascii = asciiName(name)
  return domainToUnicode(ascii) === name ? ascii : name
}

/**
 * A domain name in lower case. In texts a capital sigma that ends a word becomes the final one, but
 * names with it and with the usual one are different names. Source: UTS 46 4, mapping table; Unicode
 * 3.13, `Final_Sigma`.
 */
export function inLowerCase(domain: string): string {
  return domain.replaceAll('Σ', 'σ').toLowerCase()
}

const E164 = /^\+\d{1,15}$/
/**
 * International format with separators only: at most two digits in the first group, no national 0
 * in brackets, no extension.
 */
const SPACED_E164 = /^\+\d[\d .\-/\u00a0]{5,24}\d$/
/**
 * Such a number in which a national prefix may stand behind the country code: mostly 0, in Russia,
 * Lithuania, Belarus and Turkmenistan 8, in Argentina 15 within the number. libphonenumber knows
 * where it is part of the number, as in Italy.
 */
const PREFIXED = /^\+(?:\d{1,3}[ .\-/]+0|7[ .\-/]+8[ .\-/]|(?:370|375|993)[ .\-/]+8|54)/
const SCIENTIFIC = /^\+?\d(?:[.,]\d+)?e\+?\d+$/i

/**
 * The national format of the USA and Canada, whose area codes are also codes of countries: with a
 * plus, `(479) 212-3456` would be a number of Norway. Source: North American Numbering Plan
 * Administrator, area codes.
 */
const NORTH_AMERICAN = /^\(?\d{3}\)?[ .\-\u00a0]?\d{3}[ .\-\u00a0]\d{4}$/

/**
 * A phone number in E.164; other notations, in the digits of any script, are parsed by
 * libphonenumber. Source: decision 31.
 */
export function readPhone(text: string, defaultCountry: string | undefined): Reading {
  if (E164.test(text)) return { subject: text }
  const typed = inAsciiDigits(text)
  if (SCIENTIFIC.test(typed)) {
    return { fault: 'was rounded by a spreadsheet; format the column as text and export it again' }
  }
  const bare = withoutDecimals(unmarked(typed))
  if (E164.test(bare)) return { subject: bare }
  const spaced = SPACED_E164.test(bare) ? bare.replaceAll(/[^+\d]/g, '') : ''
  const isSpaced = E164.test(spaced)
  if (isSpaced && !PREFIXED.test(bare)) return { subject: spaced }
  if (bare.length > 60 || !/\d/.test(bare)) return { fault: 'is not a phone number' }
  const number = parsePhoneNumberFromString(bare, {
    extract: false,
    ...(defaultCountry !== undefined && isSupportedCountry(defaultCountry)
      ? { defaultCountry }
      : {}),
  })
  const read = number !== undefined && E164.test(number.number) ? number : undefined
  if (read?.isValid() === true) return { subject: read.number }
  // Spreadsheets remove the plus of a value that they take for a number.
  const plain = NORTH_AMERICAN.test(bare) ? '' : bare.replaceAll(/[\s\-./()\u00a0]/g, '')
  const [, digits] = /^(?:00)?([1-9]\d{7,14})$/.exec(plain) ?? []
  const restored = digits === undefined ? undefined : parsePhoneNumberFromString(`+${digits}`)
  if (restored?.isValid() === true && E164.test(restored.number)) {
    return { subject: restored.number }
  }
  if (read !== undefined) return { subject: read.number }
  if (isSpaced) return { subject: spaced }
  const international = bare.startsWith('+') || bare.startsWith('00')
  return {
    fault:
      defaultCountry === undefined && !international
        ? 'has no country code; set default_country'
        : 'cannot be read as a phone number',
  }
}

/**
 * Removes markers that keep a number a text, `'+44...`, `tel:` and Facebook's `p:`, and brackets
 * around the country code.
 */
function unmarked(text: string): string {
  const bare = text.startsWith("'") ? text.slice(1) : text.replace(/^(?:tel|p):/i, '')
  return bare.trim().replace(/^\(\+(\d{1,3})\)/, '+$1 ')
}

/**
 * A number that a program took for a decimal, as one with empty cells in its column:
 * `4155552671.0`. With that zero it would be another number.
 */
export function withoutDecimals(text: string): string {
  return text.replace(/^(\+?\d{5,15})[.,]0{1,2}$/, '$1')
}

/** A strict IPv4 or IPv6 literal; IPv6 is compared in the form of RFC 5952. */
export function readIp(text: string): Reading {
  switch (isIP(text)) {
    case 4:
      return { subject: text }
    case 6:
      // A zone identifier is local to one machine and not part of the address.
      if (text.includes('%')) break
      return { subject: text, key: new URL(`http://[${text}]`).hostname.slice(1, -1) }
  }
  return { fault: 'is not an IPv4 or IPv6 address' }
}

/**
 * A bare name, or the host of a URL; compared in lower case and A-labels, without a trailing dot.
 * Source: decisions 5 and 31.
 */
export function readDomain(text: string): Reading {
  const host =
    /^(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(text) || /[/?#:]/.test(text) ? hostOf(text) : text
  const name = inLowerCase((host ?? '').replace(/\.$/, ''))
  if (host === undefined || /^\.*$/.test(name)) return { fault: 'is not a domain name' }
  if (/[@\s/\\:?#]/.test(name)) return { fault: 'is not a domain name' }
  // Numbers that a browser would read as an address are no names either.
  if (isIP(name) !== 0 || /^[\d.]+$/.test(name))
    return { fault: 'is an IP address, not a domain name' }
  const key = comparedName(name)
  return host === key ? { subject: host } : { subject: host, key }
}

/** The host as written: a URL parser would rewrite it, and read numbers as addresses. */
function hostOf(text: string): string | undefined {
  const match =
    /^(?:https?:)?(?:\/\/)?(?:[^/?#@\s]*@)?([^/?#:@\s]+)(?::\d{1,5})?(?:[/?#].*)?$/is.exec(text)
  return match?.[1]
}
