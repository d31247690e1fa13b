import { type NamedRecipient, withoutAddresses, withoutLocal } from './reply-masks.ts'
import { folded, spelled } from './reply-spelling.ts'

/** Characters of a reply that are read, and that are examined once local parts are masked. */
const READ_MAX_CHARS = 4_000
const EXAMINED_MAX_CHARS = 2_000

/** Prefixes that relays add to another server's reply: IronPort, qmail, Exchange. */
const RELAY_WORDS =
  /unknown address error|remote (?:host|server|mta) (?:said|returned|responded)[: ]/g

/**
 * The text in lower case on one line, in one spelling, with local parts and the recipient's domain
 * masked.
 */
export function readable(text: string, recipient?: NamedRecipient): string {
  return plain(withoutAddresses(text.slice(0, READ_MAX_CHARS).toLowerCase(), recipient))
}

/**
 * The same, with the local part masked also where no `@` follows: there the word may be the server's
 * own.
 */
export function readableWithoutLocal(text: string, recipient: NamedRecipient): string {
  const lower = text.slice(0, READ_MAX_CHARS).toLowerCase()
  return readable(withoutLocal(lower, recipient), recipient)
}

function plain(masked: string): string {
  const lower = masked.slice(0, EXAMINED_MAX_CHARS)
  const even = /[^\x20-\x5f\x61-\x7e]/.test(lower)
    ? folded(lower).replaceAll(/[’`]/g, "'").replaceAll(/\s+/g, ' ')
    : lower
  const own = even.replaceAll(RELAY_WORDS, '')
  return spelled(own.includes('  ') ? own.replaceAll(/ +/g, ' ') : own)
}
