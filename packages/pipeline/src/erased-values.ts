import { isIP } from 'node:net'
import { composed } from '@plumbline/contract/composed-text'
import { unicodeName } from '@plumbline/contract/domain-name'
import type { ErasedValues } from '@plumbline/contract/erasure'
import type { Check } from '@plumbline/contract/products'
import { VALUE_MAX_CHARS } from '@plumbline/contract/requests'
import { cellText, readPhone, UNSEEN } from '@plumbline/intake/subject'
import { digitsOf, normalDomain, normalValue, withoutLastDots } from './normal-value.ts'

/** The values that an erasure searches for. */
export interface ErasureTarget {
  readonly values: ErasedValues
  /** Whether email addresses at the domains are erased, too. */
  readonly includeAddresses: boolean
}

/** Finds the values of an erasure as whole values: not within a longer value. */
export interface ValueFinder {
  /** Whether a subject is one of the values. */
  isErased(check: Check, subject: string): boolean
  /**
   * A text without the values; the same string if it holds none.
   *
   * @param country ISO alpha-2, of phone numbers without a country code
   */
  scrub(text: string, country?: string): string
  /** Whether a cell may be one of the phone numbers, in any notation: compares the last digits. */
  mayBePhone(text: string): boolean
}

/** Makes the finder for a target. */
export function createValueFinder({ values, includeAddresses }: ErasureTarget): ValueFinder {
  const setOf = (check: Check): ReadonlySet<string> =>
    new Set(values[check].map((value) => normalValue(check, value)))
  const [emails, phones, ips, domains] = [
    setOf('email'),
    setOf('phone'),
    setOf('ip'),
    setOf('domain'),
  ]
  const endings = new Set([...phones].map((digits) => digits.slice(-4)))
  const findsAddresses = emails.size > 0 || (includeAddresses && domains.size > 0)
  const hosts = hostsOf(emails, includeAddresses ? domains : [])

  const isAddress = (text: string): boolean => {
    const normal = normalValue('email', text)
    if (emails.has(normal)) return true
    const at = normal.lastIndexOf('@')
    return includeAddresses && at > 0 && domains.has(normal.slice(at + 1))
  }
  const isPhone = (digits: string): boolean =>
    phones.has(digits) || (digits.startsWith('00') && phones.has(digits.slice(2)))
  const isErased: ValueFinder['isErased'] = (check, subject) => {
    switch (check) {
      case 'email':
        return findsAddresses && isAddress(subject)
      case 'phone':
        return phones.size > 0 && isPhone(digitsOf(subject))
      case 'ip':
        return ips.has(normalValue('ip', subject))
      case 'domain':
        return domains.size > 0 && domains.has(normalValue('domain', subject))
    }
  }
  const scrubs: ((text: string) => string)[] = []
  if (findsAddresses) {
    const behindAt = new RegExp(`[${nameChars(hosts.keys())}.]+`, 'uy')
    scrubs.push((text) => scrubAddresses(text, { hosts, behindAt }))
  }
  if (ips.size > 0) scrubs.push((text) => scrubIps(text, (ip) => isErased('ip', ip)))
  if (domains.size > 0) {
    const names = domainPattern(nameChars(domains))
    scrubs.push((text) => scrubDomains(text, names, (name) => isErased('domain', name)))
  }
  const mayBePhone: ValueFinder['mayBePhone'] = (text) => {
    if (phones.size === 0 || text.length > PHONE_CHARS || text.includes('@')) return false
    const digits = digitsOf(text)
    return digits.length >= LEAST_DIGITS && endings.has(digits.slice(-4))
  }
  const readsPhone = (text: string, country: string | undefined): boolean => {
    if (!mayBePhone(text)) return false
    const { subject } = readPhone(cellText(text), country)
    return subject !== undefined && isPhone(digitsOf(subject))
  }
  return {
    isErased,
    scrub: (text, country) => {
      if (text.length < LEAST_CHARS) return text
      // Values that are not an address can only be found as a whole.
      const mayBeOne = emails.size > 0 && text.length <= WHOLE_MAX_CHARS
      if (mayBeOne && emails.has(normalValue('email', cellText(text)))) return ''
      const left = scrubs.reduce((rest, scrub) => scrub(rest), text)
      if (phones.size === 0) return left
      return scrubPhones(left, isPhone, (number) => readsPhone(number, country))
    },
    mayBePhone,
  }
}

/**
 * Shortest possible value: an address, number, IP or name. Numbers with fewer digits are not
 * searched for within texts.
 */
const LEAST_CHARS = 2
const LEAST_DIGITS = 5

/**
 * Longest text that is compared as a whole: NFC makes texts shorter by a factor of four at most
 * (UAX 15, section 9), and there may be blanks around it.
 */
const WHOLE_MAX_CHARS = 8 * VALUE_MAX_CHARS

/** Longest notation of a phone number that is parsed. */
const PHONE_CHARS = 60

/** Characters that delimit an email address and never occur in one, except quotes. */
const AROUND = new RegExp(String.raw`[\s"<>()[\]\\,;:${UNSEEN}]`, 'u')
/** Characters that may occur in a local part but mostly delimit it. */
const BETWEEN = /['/=?&|{}!#$%^*~`]/

/** Longest local part that is considered (RFC 5321: 64). */
const LOCAL_CHARS = 256

/**
 * Delimiters before an @ behind which an address may begin: twice as many as the local part of a
 * forwarded message has (SRS).
 */
const LOCAL_STARTS = 16

/** The erased addresses at a host. */
interface ErasedAtHost {
  /** Their local parts, as `foldedLocal` has them. */
  readonly locals: ReadonlySet<string>
  /** Characters of the longest. */
  readonly longest: number
  /** Whether every address at the host is erased. */
  readonly isWhole: boolean
}

/** The erased addresses, in normal form, by their host; and those at whole domains. */
function hostsOf(
  emails: Iterable<string>,
  domains: Iterable<string>,
): ReadonlyMap<string, ErasedAtHost> {
  const localsOf = new Map<string, Set<string>>()
  for (const address of emails) {
    const at = address.lastIndexOf('@')
    if (at < 0) continue
    const host = address.slice(at + 1)
    const locals = localsOf.get(host) ?? new Set()
    localsOf.set(host, locals.add(foldedLocal(address.slice(0, at))))
  }
  const whole = new Set(domains)
  return new Map(
    [...localsOf.keys(), ...whole].map((host) => {
      const locals = localsOf.get(host) ?? new Set<string>()
      const longest = [...locals].reduce((most, { length }) => Math.max(most, length), 0)
      return [host, { locals, longest, isWhole: whole.has(host) }]
    }),
  )
}

/** A local part, or a piece of one, in the form in which it is compared: with one small sigma. */
function foldedLocal(text: string): string {
  const form = text.trim().toLowerCase()
  return IS_ASCII.test(form) ? form : composed(form).replaceAll('ς', 'σ')
}

const IS_ASCII = /^[\0-\x7f]*$/

/**
 * The characters of labels in a class of a regular expression: letters, marks, digits, and what else
 * these names have, such as the joiners of Persian or emoji, which surround a value elsewhere.
 */
function nameChars(names: Iterable<string>): string {
  const rare = new Set<string>()
  for (const name of names) {
    for (const char of unicodeName(name)) if (RARE_IN_NAMES.test(char)) rare.add(char)
  }
  return `\\p{L}\\p{M}\\p{N}_\\-${[...rare].join('')}`
}

const RARE_IN_NAMES = /[^\p{ASCII}\p{L}\p{M}\p{N}]/u

/** Finds the addresses at some hosts. */
interface HostSearch {
  readonly hosts: ReadonlyMap<string, ErasedAtHost>
  /** The domain after an @. */
  readonly behindAt: RegExp
}

function scrubAddresses(text: string, { hosts, behindAt }: HostSearch): string {
  let left = ''
  let from = 0
  /** The pieces of local parts, by their start, so that each is folded once for those that share it. */
  const pieces = new Map<number, { readonly end: number; readonly form: string }>()
  const pieceOf = (start: number, end: number): string => {
    const held = pieces.get(start)
    if (held?.end === end) return held.form
    const form = foldedLocal(text.slice(start, end))
    pieces.set(start, { end, form })
    return form
  }
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    behindAt.lastIndex = at + 1
    const found = behindAt.exec(text)?.[0]
    if (found === undefined) continue
    const domain = withoutLastDots(found)
    // Nearly all addresses are ruled out by their domain, before the start of the local part is
    // searched.
    const erased = hosts.get(normalDomain(domain))
    const start = erased && startOfAddress(text, { from, at, erased, pieceOf })
    if (start === undefined) continue
    left += text.slice(from, start)
    from = at + 1 + domain.length
  }
  return from === 0 ? text : left + text.slice(from)
}

/** Start of the erased address whose @ is at a position, if it is delimited on the left. */
function startOfAddress(
  text: string,
  search: {
    readonly from: number
    readonly at: number
    readonly erased: ErasedAtHost
    readonly pieceOf: (start: number, end: number) => string
  },
): number | undefined {
  const { from, at, erased, pieceOf } = search
  const least = Math.max(from, at - LOCAL_CHARS)
  let local = ''
  let end = at
  let startsLeft = LOCAL_STARTS
  for (let start = at - 1; start >= least && startsLeft > 0; start--) {
    const before = start === 0 ? ' ' : (text[start - 1] ?? ' ')
    const isFirst = start === from || AROUND.test(before)
    const isAfter = BETWEEN.test(before) || before === '@'
    // A mark belongs to the character before it.
    if (isFirst || (isAfter && !MARK.test(text[start] ?? ''))) {
      local = pieceOf(start, end) + local
      end = start
      startsLeft--
      if (erased.isWhole ? local !== '' : erased.locals.has(local)) return start
      if (local.length > erased.longest) return undefined
    }
    if (AROUND.test(before)) return undefined
  }
  return undefined
}

const MARK = /\p{M}/u

function scrubIps(text: string, isErased: (text: string) => boolean): string {
  let left = text
  if (text.includes('.')) {
    left = left.replaceAll(/(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)/g, (token) =>
      isErased(token) ? '' : token,
    )
  }
  if (left.includes(':')) {
    left = left.replaceAll(/(?<![\w:.])[0-9a-f:.]{2,46}(?![\w:])/gi, (token) => {
      const address = token.replace(/\.+$/, '')
      return isIP(address) === 6 && isErased(address) ? token.slice(address.length) : token
    })
  }
  return left
}

/**
 * A domain, which is neither that of an address nor a local part: those belong to a larger value.
 */
function domainPattern(chars: string): RegExp {
  return new RegExp(
    `(?<![${chars}.@])[${chars}]+(?:\\.[${chars}]+)+(?![${chars}@]|\\.[\\p{L}\\p{N}])`,
    'gu',
  )
}

function scrubDomains(text: string, names: RegExp, isErased: (text: string) => boolean): string {
  if (!text.includes('.')) return isErased(text) ? '' : text
  return text.replaceAll(names, (token) => (isErased(token) ? '' : token))
}

/** A phone number within a text, in the digits of any script. */
const NUMBER = /(?<![\w.\p{Nd}])[+＋(]?\p{Nd}[\p{Nd}\s()./\u2010-\u2015-]*\p{Nd}(?![\w\p{Nd}])/gu

/** Parts of it that may be several numbers: dashes also stand between two. */
const PIECE = /[^\s/\u2010-\u2015]+/gu

/**
 * @param isPhone compares digits
 * @param readsPhone parses a number in national format, or with brackets around its 0
 */
function scrubPhones(
  text: string,
  isPhone: (digits: string) => boolean,
  readsPhone: (number: string) => boolean,
): string {
  if (readsPhone(text)) return ''
  const whole = text.trim()
  return text.replaceAll(NUMBER, (token) => {
    if (isPhone(digitsOf(token)) || (token !== whole && readsPhone(token))) return ''
    // Consecutive matches are separated by the text between them.
    return token.replaceAll(PIECE, (piece) => (isPhone(digitsOf(piece)) ? '' : piece))
  })
}
