import { isIpLiteral } from '@plumbline/contract/ip-literal'
import { CHECKS, type Check } from '@plumbline/contract/products'
import * as format from '../../format.ts'

/** Values by kind, and lines that are not values; without duplicates. */
export type ValuesByKind = Readonly<Record<Check | 'unread', readonly string[]>>

/** The longest value that the service accepts, in characters. */
const LONGEST_CHARS = 1_000

/**
 * One address and nothing around it, with a local part that may be quoted: with several, or a name
 * beside it, the whole line would be searched for and found nowhere. Source: RFC 5321 4.1.2.
 */
const ADDRESS =
  /^(?:"(?:[^"\\]|\\.)*"|[^\s"<>()[\]\\,;:@]+)@(?:[^\s"<>()[\]\\,;:@/]+|\[[^\s[\]]+\])$/

/** Sorts values that were typed or pasted, one a line, by kind. */
export function valuesByKind(text: string): ValuesByKind {
  const found: Record<Check | 'unread', Set<string>> = {
    email: new Set(),
    phone: new Set(),
    ip: new Set(),
    domain: new Set(),
    unread: new Set(),
  }
  for (const line of text.split(/[\r\n]+/)) {
    const value = line.trim()
    if (value === '') continue
    const kind = kindOf(value)
    // Numbers are written with blanks and brackets, and asked for without.
    found[kind].add(kind === 'phone' ? value.replaceAll(/[^+\d]/g, '') : value)
  }
  const { email, phone, ip, domain, unread } = found
  return {
    email: [...email],
    phone: [...phone],
    ip: [...ip],
    domain: [...domain],
    unread: [...unread],
  }
}

function kindOf(value: string): Check | 'unread' {
  if (value.length > LONGEST_CHARS) return 'unread'
  if (ADDRESS.test(value)) return 'email'
  if (/^\+[\s().-]*\d(?:[\s().-]*\d){0,14}[\s().-]*$/.test(value)) return 'phone'
  if (isIpLiteral(value)) return 'ip'
  return isDomain(value) ? 'domain' : 'unread'
}

/**
 * Several labels, the last with a letter, so that an IP address with an extra digit does not count.
 */
function isDomain(value: string): boolean {
  const labels = value.replace(/\.$/, '').split('.')
  const isReadable = labels.length > 1 && labels.every((label) => /^[^\s/:@]+$/.test(label))
  return isReadable && /\p{L}/u.test(labels.at(-1) ?? '')
}

/** Noun for one value of each kind. */
const KINDS: Readonly<Record<Check, string>> = {
  email: 'email',
  phone: 'phone number',
  ip: 'IP',
  domain: 'domain',
}

/** The number of values of each kind, in words; empty if there are none. */
export function sayValues(values: ValuesByKind): string {
  return CHECKS.filter((check) => values[check].length > 0)
    .map((check) => format.counted(values[check].length, KINDS[check]))
    .join(', ')
}
