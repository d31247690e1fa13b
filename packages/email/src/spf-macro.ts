import { formatAddress, type IpAddress } from '@plumbline/net/address'

/** Values that macros are replaced with. */
export interface MacroValues {
  readonly sender: string
  readonly helo: string
  /** The domain whose record is being read. */
  readonly domain: string
  readonly address: IpAddress
}

const MACRO_STRING = /^(?:%\{[slodiphcrtv]\d{0,3}r?[.\-+,/_=]*\}|%[%_-]|[\x21-\x24\x26-\x7e])*$/i

/** Whether a text has the form of a macro string (RFC 7208 section 7.1). */
export function isMacroString(text: string): boolean {
  return MACRO_STRING.test(text) && !/%\{[a-z]0+r?[^}]*\}/i.test(text)
}

/**
 * Expands the macros of a name and returns its last 253 characters; null if it holds a macro not
 * allowed in names.
 */
export function expandMacros(spec: string, values: MacroValues): string | null {
  let isAllowed = true
  const name = spec.replaceAll(
    /%\{([a-z])(\d*)(r?)([^}]*)\}|%([%_-])/gi,
    (_, letter: string, count: string, reverse: string, delimiters: string, sign: string) => {
      if (sign !== undefined) return SIGNS.get(sign) ?? ''
      const value = valueOf(letter.toLowerCase(), values)
      if (value === null) {
        isAllowed = false
        return ''
      }
      const kept = transformed(value, { count, isReversed: reverse !== '', delimiters })
      return letter === letter.toUpperCase() ? encodeURIComponent(kept) : kept
    },
  )
  return isAllowed ? shortened(name) : null
}

const SIGNS = new Map([
  ['%', '%'],
  ['_', ' '],
  ['-', '%20'],
])

/** `c`, `r` and `t` are only allowed in explanations (RFC 7208 section 7.2). */
function valueOf(letter: string, { sender, helo, domain, address }: MacroValues): string | null {
  const at = sender.lastIndexOf('@')
  switch (letter) {
    case 's':
      return at > 0 ? sender : `postmaster@${sender.slice(at + 1)}`
    case 'l':
      return at > 0 ? sender.slice(0, at) : 'postmaster'
    case 'o':
      return sender.slice(at + 1)
    case 'd':
      return domain
    case 'h':
      return helo
    case 'v':
      return address.version === 4 ? 'in-addr' : 'ip6'
    case 'i':
      return address.version === 4
        ? formatAddress(address)
        : [...address.value.toString(16).padStart(32, '0')].join('.')
    // Validating the name is discouraged; `unknown` is allowed (section 7.3).
    case 'p':
      return 'unknown'
    default:
      return null
  }
}

function transformed(
  value: string,
  how: { readonly count: string; readonly isReversed: boolean; readonly delimiters: string },
): string {
  const signs = new Set(how.delimiters === '' ? '.' : how.delimiters)
  const parts = ['']
  for (const sign of value) {
    if (signs.has(sign)) parts.push('')
    else parts[parts.length - 1] += sign
  }
  if (how.isReversed) parts.reverse()
  return (how.count === '' ? parts : parts.slice(-Number(how.count))).join('.')
}

/** Labels are dropped from the left until 253 characters are left (RFC 7208 section 7.3). */
function shortened(name: string): string {
  let short = name
  while (short.length > 253 && short.includes('.')) short = short.slice(short.indexOf('.') + 1)
  return short
}
