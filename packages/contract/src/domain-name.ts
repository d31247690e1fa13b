import { domainToASCII, domainToUnicode } from 'node:url'

/** Characters of a longest name (RFC 1035 2.3.4); one in Unicode has no more of them. */
const NAME_MAX_CHARS = 253

/**
 * A domain name in lower-case A-labels, as in URLs; empty if it has none. A text longer than a name
 * has none either: its conversion would take time with the square of its length.
 */
export function asciiName(name: string): string {
  return name.length > NAME_MAX_CHARS ? '' : domainToASCII(name)
}

/** A domain name in lower-case U-labels; a text longer than a name is returned as it is. */
export function unicodeName(name: string): string {
  return name.length > NAME_MAX_CHARS ? name : domainToUnicode(name)
}
