import { isIP } from 'node:net'
import type { ErasedValues } from '@plumbline/contract/erasure'
import type { Check } from '@plumbline/contract/products'
import { digitsOf, normalDomain, normalValue } from './normal-value.ts'

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
  /** A text without the values; the same string if it holds none. */
  scrub(text: string): string
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
  const hosts = new Set([
    ...[...emails].map((address) => address.slice(address.lastIndexOf('@') + 1)),
    ...(includeAddresses ? domains : []),
  ])

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
  if (findsAddresses) scrubs.push((text) => scrubAddresses(text, hosts, isAddress))
  if (ips.size > 0) scrubs.push((text) => scrubIps(text, (ip) => isErased('ip', ip)))
  if (domains.size > 0)
    scrubs.push((text) => scrubDomains(text, (name) => isErased('domain', name)))
  if (phones.size > 0) scrubs.push((text) => scrubPhones(text, isPhone))
  return {
    isErased,
    scrub: (text) => {
      if (text.length < LEAST_CHARS) return text
      // Values that are not an address can only be found as a whole.
      if (emails.size > 0 && emails.has(normalValue('email', text))) return ''
      return scrubs.reduce((left, scrub) => scrub(left), text)
    },
    mayBePhone: (text) => {
      if (phones.size === 0 || text.length > PHONE_CHARS || text.includes('@')) return false
      const digits = digitsOf(text)
      return digits.length >= LEAST_DIGITS && endings.has(digits.slice(-4))
    },
  }
}

/**
 * Shortest possible value: an address, number, IP or name. Numbers with fewer digits are not
 * searched for within texts.
 */
const LEAST_CHARS = 2
const LEAST_DIGITS = 5

/** Longest notation of a phone number that is parsed. */
const PHONE_CHARS = 60

/** Characters that delimit an email address and never occur in one, except quotes. */
const AROUND = /[\s"<>()[\]\\,;:]/
/** Characters that may occur in a local part but mostly delimit it. */
const BETWEEN = /['/=?&|{}!#$%^*~`]/

/** Longest local part that is considered (RFC 5321: 64). */
const LOCAL_CHARS = 256

/** The domain after an @. */
const DOMAIN_BEHIND = /[\p{L}\p{M}\p{N}._-]+/uy

function scrubAddresses(
  text: string,
  hosts: ReadonlySet<string>,
  isAddress: (text: string) => boolean,
): string {
  let left = ''
  let from = 0
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    DOMAIN_BEHIND.lastIndex = at + 1
    const found = DOMAIN_BEHIND.exec(text)?.[0]
    if (found === undefined) continue
    const domain = found.replace(/[.]+$/, '')
    // Nearly all addresses are ruled out by their domain, before the start of the local part is
    // searched.
    if (!hosts.has(normalDomain(domain))) continue
    const start = startOfAddress(text, from, at, domain, isAddress)
    if (start === undefined) continue
    left += text.slice(from, start)
    from = at + 1 + domain.length
  }
  return from === 0 ? text : left + text.slice(from)
}

/** Start of the erased address whose @ is at this position, if it is delimited on the left. */
function startOfAddress(
  text: string,
  from: number,
  at: number,
  domain: string,
  isAddress: (text: string) => boolean,
): number | undefined {
  const behind = `@${domain}`
  const least = Math.max(from, at - LOCAL_CHARS)
  for (let start = at - 1; start >= least; start--) {
    const before = start === 0 ? ' ' : (text[start - 1] ?? ' ')
    const isEdge = start === from || AROUND.test(before) || BETWEEN.test(before) || before === '@'
    if (isEdge && isAddress(text.slice(start, at) + behind)) return start
    if (AROUND.test(before)) return undefined
  }
  return undefined
}

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

function scrubDomains(text: string, isErased: (text: string) => boolean): string {
  if (!text.includes('.')) return isErased(text) ? '' : text
  return text.replaceAll(
    // Neither the domain of an address nor a local part: those belong to a larger value.
    /(?<![\p{L}\p{M}\p{N}_.@-])[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)+(?![\p{L}\p{M}\p{N}_@-]|\.[\p{L}\p{N}])/gu,
    (token) => (isErased(token) ? '' : token),
  )
}

function scrubPhones(text: string, isPhone: (digits: string) => boolean): string {
  return text.replaceAll(/(?<![\w.])[+(]?\d[\d\s()./\u00a0-]*\d(?![\w])/g, (token) => {
    if (isPhone(digitsOf(token))) return ''
    // Consecutive matches are separated by the text between them.
    return token.replaceAll(/[^\s/]+/g, (piece) => (isPhone(digitsOf(piece)) ? '' : piece))
  })
}
