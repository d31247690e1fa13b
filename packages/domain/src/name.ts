import { parse as parseSuffix } from 'tldts'
import { toASCII, toUnicode } from 'tr46'
import { parseAddress } from '@plumbline/net/address'

/** Why a text is not a domain name that can be checked. */
export type NameFault =
  | 'empty'
  | 'too_long'
  | 'label_too_long'
  | 'empty_label'
  | 'address'
  | 'forbidden_character'
  | 'hyphen'
  | 'not_idna'
  | 'single_label'
  | 'public_suffix'
  | 'reserved_suffix'

/** A well-formed name and its parts. */
export interface DomainName {
  readonly kind: 'name'
  /** A-labels, lower case, without a last dot. */
  readonly ascii: string
  /** The registrable domain: the registry's public suffix and one label. */
  readonly registrable: string
  /** The registry's public suffix (private entries of the list are ignored). */
  readonly suffix: string
  readonly tld: string
}

/** A text that is not a domain name, and why. */
export interface BadName {
  readonly kind: 'bad'
  readonly fault: NameFault
  /** A public suffix of several labels, which may have records as other names do: `gov.uk`. */
  readonly suffix?: DomainName
}

/** Characters of a name and of a label (RFC 1035 2.3.4); in Unicode neither has more of them. */
const MAX_NAME_LENGTH = 253
const MAX_LABEL_LENGTH = 63

/** Suffixes that are never in the public DNS. Source: RFC 6761, RFC 6762, RFC 7686, RFC 9476. */
const RESERVED_SUFFIXES: ReadonlySet<string> = new Set([
  'alt',
  'invalid',
  'local',
  'localhost',
  'onion',
])

/**
 * The A-label form of a name by UTS 46, non-transitional and strict (bidi, joiners, hyphens,
 * lengths, only letters, digits and hyphens). Null if it has none.
 */
export function toAscii(name: string): string | null {
  // A conversion takes time with the square of the length.
  if (name.length > MAX_NAME_LENGTH) return null
  return toASCII(name, {
    checkBidi: true,
    checkHyphens: true,
    checkJoiners: true,
    useSTD3ASCIIRules: true,
    verifyDNSLength: true,
    transitionalProcessing: false,
    ignoreInvalidPunycode: false,
  })
}

/** The spellings of a name that is in A-labels: this one, and that in Unicode if it differs. */
export function spellingsOf(ascii: string): readonly string[] {
  return [...new Set([ascii, toUnicode(ascii).domain])]
}

/**
 * Parses a bare domain name: its A-label form and registrable domain, or why it is none. One
 * trailing dot is allowed. ASCII names may have hyphens in the third and fourth position, which UTS
 * 46 forbids but registries have sold.
 */
export function readName(text: string): DomainName | BadName {
  const bare = text.trim().replace(/[.。．｡]$/u, '')
  if (bare === '') return bad('empty')
  if (parseAddress(bare.replace(/^\[|\]$/g, '')) !== null) return bad('address')
  const ascii = asciiOf(bare)
  if (typeof ascii !== 'string') return ascii
  const labels = ascii.split('.')
  const tld = labels.at(-1) ?? ''
  if (/^\d+$/.test(tld)) return bad('address')
  if (RESERVED_SUFFIXES.has(tld)) return bad('reserved_suffix')
  const parsed = parseSuffix(ascii, { allowPrivateDomains: false, extractHostname: false })
  if (labels.length === 1) return bad(parsed.isIcann === true ? 'public_suffix' : 'single_label')
  const forms = { kind: 'name', ascii, tld } as const
  if (parsed.domain === null || parsed.publicSuffix === null) {
    const suffix = { ...forms, registrable: ascii, suffix: ascii }
    return { ...bad('public_suffix'), suffix }
  }
  return { ...forms, registrable: parsed.domain, suffix: parsed.publicSuffix }
}

function asciiOf(bare: string): string | BadName {
  const plain = bare.toLowerCase()
  if (/^[\x21-\x7e]+$/.test(plain) && !/(?:^|\.)xn--/.test(plain)) {
    const fault = plainFault(plain)
    return fault === null ? plain : bad(fault)
  }
  const ascii = toAscii(bare)
  if (ascii !== null) return ascii
  if (bare.split(/[.。．｡]/u).some((label) => label === '')) return bad('empty_label')
  return bad('not_idna')
}

function plainFault(name: string): NameFault | null {
  if (name.length > MAX_NAME_LENGTH) return 'too_long'
  for (const label of name.split('.')) {
    if (label === '') return 'empty_label'
    if (label.length > MAX_LABEL_LENGTH) return 'label_too_long'
    if (!/^[a-z0-9-]+$/.test(label)) return 'forbidden_character'
    if (label.startsWith('-') || label.endsWith('-')) return 'hyphen'
  }
  return null
}

function bad(fault: NameFault): BadName {
  return { kind: 'bad', fault }
}
