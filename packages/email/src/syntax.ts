import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'

/** A parsed mailbox, or why the text is not one. */
export type Mailbox = ParsedMailbox | NotParsed

/** Why a text is not a mailbox, or its domain none. */
interface NotParsed {
  readonly ok: false
  readonly why: SyntaxFault
}

/** A parsed email address. */
export interface ParsedMailbox {
  readonly ok: true
  /** Local part as written, quotes included. */
  readonly local: string
  /** Lower-case A-labels, or the literal with its brackets. */
  readonly domain: string
  /** The local part is a quoted string. */
  readonly quoted: boolean
  /** The domain is an address literal. */
  readonly literal: boolean
  /** The local part holds characters beyond ASCII: the server must offer SMTPUTF8. */
  readonly utf8: boolean
}

/** Why a text is not a mailbox. */
export type SyntaxFault =
  | 'empty'
  | 'no_at_sign'
  | 'local_empty'
  | 'local_too_long'
  | 'local_character'
  | 'local_dots'
  | 'local_quote'
  | 'domain_empty'
  | 'domain_too_long'
  | 'domain_label'
  | 'domain_literal'
  | 'path_too_long'

/**
 * Octets. Source: RFC 5321 4.5.3.1.1; 4.5.3.1.3 with erratum 1690 (256 less the angle brackets).
 */
const LOCAL_MAX_BYTES = 64
const PATH_MAX_BYTES = 254

/** Octets of a domain name in text form, and of a label. Source: RFC 1035 2.3.4. */
const DOMAIN_MAX_BYTES = 253
const LABEL_MAX_BYTES = 63

/** A longer text, in UTF-16 units, cannot fit the path and is refused without parsing. */
const TEXT_MAX_CHARS = 1000

const QUOTE = 0x22
const DOT = 0x2e
const AT = 0x40
const BACKSLASH = 0x5c
const HYPHEN = 0x2d

/**
 * Parses an RFC 5321 Mailbox in one pass: dot-string or quoted string, domain or address literal,
 * UTF-8 by RFC 6531, domain names by UTS 46. Comments, folding and general address literals are not
 * supported.
 */
export function parseMailbox(text: string): Mailbox {
  if (text.length === 0) return fault('empty')
  if (text.length > TEXT_MAX_CHARS) return fault('path_too_long')
  const quoted = text.charCodeAt(0) === QUOTE
  const local = quoted ? scanQuoted(text) : scanDotString(text)
  if (typeof local === 'string') return fault(local)
  const localText = text.slice(0, local.end)
  if (Buffer.byteLength(localText) > LOCAL_MAX_BYTES) return fault('local_too_long')
  const domainText = text.slice(local.end + 1)
  if (domainText.length === 0) return fault('domain_empty')
  const literal = domainText.startsWith('[')
  const domain = literal ? readLiteral(domainText) : readDomain(domainText)
  if (!domain.ok) return domain
  if (Buffer.byteLength(localText) + 1 + domain.name.length > PATH_MAX_BYTES) {
    return fault('path_too_long')
  }
  return { ok: true, local: localText, domain: domain.name, quoted, literal, utf8: local.utf8 }
}

/** The domain of a mailbox: lower-case A-labels, or a literal. */
interface ParsedDomain {
  readonly ok: true
  readonly name: string
}

/**
 * Parses a domain name into lower-case A-labels: LDH labels of at most 63 octets, 253 in all. A
 * single label and a numeric top label are valid here.
 */
export function readDomain(text: string): ParsedDomain | NotParsed {
  // No name is longer in Unicode, and a conversion takes time with the square of the length.
  if (text.length > DOMAIN_MAX_BYTES) return fault('domain_too_long')
  const name = isAscii(text) ? text.toLowerCase() : asciiOf(text)
  if (name === '') return fault('domain_label')
  if (name.length > DOMAIN_MAX_BYTES) return fault('domain_too_long')
  return hasGoodLabels(name) ? { ok: true, name } : fault('domain_label')
}

interface LocalScan {
  /** Index of the at sign. */
  readonly end: number
  readonly utf8: boolean
}

/**
 * The local part without quotes if it needs none: both forms name the same mailbox. Source: RFC
 * 5321 4.1.2.
 */
export function plainLocal({ local, quoted }: ParsedMailbox): string {
  if (!quoted) return local
  const content = local.slice(1, -1).replaceAll(/\\(.)/gsu, '$1')
  const scan = scanDotString(`${content}@`)
  return typeof scan !== 'string' && scan.end === content.length ? content : local
}

function scanDotString(text: string): LocalScan | SyntaxFault {
  let utf8 = false
  let afterDot = true
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === AT) {
      if (at === 0) return 'local_empty'
      return afterDot ? 'local_dots' : { end: at, utf8 }
    }
    if (code === DOT) {
      if (afterDot) return 'local_dots'
      afterDot = true
      continue
    }
    afterDot = false
    if (code < 0x80) {
      if (ATEXT[code] !== 1) return 'local_character'
      continue
    }
    const units = unitsBeyondAscii(text, at)
    if (units === 0) return 'local_character'
    at += units - 1
    utf8 = true
  }
  return 'no_at_sign'
}

function scanQuoted(text: string): LocalScan | SyntaxFault {
  let utf8 = false
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      if (at + 1 >= text.length) return 'no_at_sign'
      return text.charCodeAt(at + 1) === AT ? { end: at + 1, utf8 } : 'local_quote'
    }
    if (code === BACKSLASH) {
      at++
      if (!isPrintable(text.charCodeAt(at))) return 'local_quote'
      continue
    }
    if (code < 0x80) {
      if (!isPrintable(code)) return 'local_character'
      continue
    }
    const units = unitsBeyondAscii(text, at)
    if (units === 0) return 'local_character'
    at += units - 1
    utf8 = true
  }
  return 'local_quote'
}

function readLiteral(text: string): ParsedDomain | NotParsed {
  const inner = text.endsWith(']') ? text.slice(1, -1) : ''
  const isV6 = inner.slice(0, 5).toLowerCase() === 'ipv6:'
  const good = isV6 ? isIPv6(inner.slice(5)) && !inner.includes('%') : isQuad(inner)
  return good ? { ok: true, name: text.toLowerCase() } : fault('domain_literal')
}

/** Four numbers up to 255, leading zeros allowed (RFC 5321 4.1.3, `Snum`). */
function isQuad(text: string): boolean {
  return (
    /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => Number(part) <= 255)
  )
}

function hasGoodLabels(name: string): boolean {
  let start = 0
  for (let at = 0; at <= name.length; at++) {
    const code = at === name.length ? DOT : name.charCodeAt(at)
    if (code !== DOT) {
      if (code !== HYPHEN && !isLetterOrDigit(code)) return false
      continue
    }
    const length = at - start
    if (length === 0 || length > LABEL_MAX_BYTES) return false
    if (name.charCodeAt(start) === HYPHEN || name.charCodeAt(at - 1) === HYPHEN) return false
    start = at + 1
  }
  return true
}

/** ASCII characters that no domain name has. */
const FOREIGN_ASCII = /[^\x80-\u{10ffff}a-z0-9.-]/iu

/**
 * The A-label form by UTS 46, non-transitional; empty if there is none. Node converts names as in
 * URLs, which reads numeric names as addresses, so a numeric last label is not passed to it; which
 * drops tabs and line breaks, decodes percent signs and ends at a slash, so that none of them is.
 */
function asciiOf(text: string): string {
  if (FOREIGN_ASCII.test(text)) return ''
  const name = domainToASCII(`${text}.a`)
  return name.endsWith('.a') ? name.slice(0, -2).toLowerCase() : ''
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) >= 0x80) return false
  return true
}

function isPrintable(code: number): boolean {
  return code >= 0x20 && code <= 0x7e
}

function isLetterOrDigit(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)
}

/**
 * UTF-16 units of the character beyond ASCII at a position; 0 if it is not allowed, as are no
 * controls, format characters, lone surrogates, unassigned characters and spaces.
 */
function unitsBeyondAscii(text: string, at: number): number {
  const point = text.codePointAt(at) ?? 0
  const isAllowed = !/[\p{C}\p{Z}]/u.test(String.fromCodePoint(point)) || isJoined(text, at)
  if (!isAllowed) return 0
  return point > 0xffff ? 2 : 1
}

/**
 * Whether a zero-width joiner or non-joiner stands where a script needs it to spell a word: behind a
 * letter or mark beyond ASCII, as in Persian and Hindi. Source: RFC 5892 A.1 and A.2.
 */
function isJoined(text: string, at: number): boolean {
  return /[\p{L}\p{M}](?<![\x00-\x7f])[\u200c\u200d]$/u.test(
    text.slice(Math.max(0, at - 2), at + 1),
  )
}

/** Source: RFC 5322 3.2.3, which RFC 5321 4.1.2 refers to. */
const ATEXT: Uint8Array = atextTable()

function atextTable(): Uint8Array {
  const table = new Uint8Array(128)
  const specials = "!#$%&'*+-/=?^_`{|}~"
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  for (const char of `${specials}0123456789${letters}${letters.toUpperCase()}`) {
    table[char.charCodeAt(0)] = 1
  }
  return table
}

function fault(why: SyntaxFault): NotParsed {
  return { ok: false, why }
}
