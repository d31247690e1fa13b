/** Characters of a reply that are read, and that are examined once local parts are masked. */
const READ_MAX_CHARS = 4_000
const EXAMINED_MAX_CHARS = 2_000

/** Local parts without a domain between them, which no address has. */
const MASKED_RUN = /(?:someone@){2,}/g

/** Prefixes that relays add to another server's reply: IronPort, qmail, Exchange. */
const RELAY_WORDS =
  /unknown address error|remote (?:host|server|mta) (?:said|returned|responded)[: ]/g

/** A recipient as it is sent. */
export interface NamedRecipient {
  readonly local: string
  /** Lower-case A-labels. */
  readonly domain: string
}

/** A shorter local part is too likely to be a word of the reply itself. */
export const LOCAL_MIN_CHARS = 3

/** What stands for a local part, and for the recipient's domain. */
const ANY_LOCAL = 'someone'
const ANY_DOMAIN = 'x.example'

/**
 * The text in lower case on one line, with local parts and the recipient's domain masked, since they
 * may contain any word.
 */
export function readable(text: string, recipient?: NamedRecipient): string {
  const lower = text.slice(0, READ_MAX_CHARS).toLowerCase()
  if (recipient === undefined) return plain(maskLocals(lower, ANY_LOCAL))
  const locals = maskLocals(withoutSplitLocal(lower, recipient), ANY_LOCAL)
  return plain(withoutWord(locals, recipient.domain, ANY_DOMAIN, IN_DOMAIN))
}

/**
 * The same, with the local part masked also where no `@` follows: there the word may be the server's
 * own.
 */
export function readableWithoutLocal(text: string, recipient: NamedRecipient): string {
  const lower = text.slice(0, READ_MAX_CHARS).toLowerCase()
  const masked = formsOf(recipient).reduce(
    (rest, form) => (form.length < LOCAL_MIN_CHARS ? rest : withoutWord(rest, form, ANY_LOCAL)),
    lower,
  )
  return readable(masked, recipient)
}

function plain(masked: string): string {
  const lower = masked.replaceAll(MASKED_RUN, 'someone@').slice(0, EXAMINED_MAX_CHARS)
  const even = /[^\x20-\x5f\x61-\x7e]/.test(lower)
    ? folded(lower).replaceAll(/[’`]/g, "'").replaceAll(/\s+/g, ' ')
    : lower
  const own = even.replaceAll(RELAY_WORDS, '')
  return spelled(own.includes('  ') ? own.replaceAll(/ +/g, ' ') : own)
}

/** Letters without accents, so that a word has one spelling. Hangul is recomposed. */
function folded(text: string): string {
  const bare = text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
  return bare.replaceAll(/[łøßæœđı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ı: 'i',
}

/** A common misspelling in replies. */
interface Misspelling {
  readonly pattern: RegExp
  readonly right: string
}

/**
 * Misspellings that mail servers send. None of them is a word of another language that the rules
 * know: `adress` is Swedish, `invalide` and `inexistant` are French.
 */
const MISSPELLINGS: readonly Misspelling[] = [
  { pattern: /\bre[cs][ei]{1,2}p[ie]{0,3}[ae]?nt(s?)\b/g, right: 'recipient$1' },
  {
    pattern: /\bun(?:kow?n|konw?n?|knonw|knwon|knwn|knowm|knowed|nkown|kwown|know)\b/g,
    right: 'unknown',
  },
  { pattern: /\bu(?:known?|kwnown|nnknown)\b/g, right: 'unknown' },
  { pattern: /\b(?:ma[li]box|mailbx|mailbo|mai[li]{2}box|mialbox)\b/g, right: 'mailbox' },
  { pattern: /\bacc?(?:ount|ont|cont|coutn|uont)\b/g, right: 'account' },
  { pattern: /\b(?:inv[ae]ild|unvalid|inavlid|invlaid|ivalid|invallid)\b/g, right: 'invalid' },
  { pattern: /\bno (?:su[skh]h?|suck|souch|shuch|sutch)(?= )/g, right: 'no such' },
  { pattern: /\bno[-_]such[-_](?=[a-z])/g, right: 'no such ' },
  { pattern: /\b(user|mailbox|recipient|account)[-_](?=unknown|not|does|invalid)/g, right: '$1 ' },
  { pattern: /\b(not|unknown|invalid)_(?=[a-z])/g, right: '$1 ' },
  { pattern: /\bnot (?:been )?(?:founded|fount|fond|foud)\b/g, right: 'not found' },
  { pattern: /\b(?:was|were|has|have) ?n[o']?t (?:been |be )?found\b/g, right: 'not found' },
  { pattern: /\b(?:non?|un)[ -]?exist(?:[ae]nt|ing|ed)\b/g, right: 'nonexistent' },
]

/** Verbs before "not exist", also as contractions. */
const AUXILIARY =
  '(?:do|does|dose|dos|doe|doen|doens|dosn|dosen|doesn|don|did|didn|is|isn|was|wasn|has|hasn|have|haven)'

const EXIST = '(?:ex(?:s?ist|sit|it|isit|ixt|st|is)(?:s|ed|ing|[ae]nt|st)?|eixsts?|exsi(?:s?ts?))'

/** "does not exist" in all its forms, but not "may not exist", which states nothing. */
const NOT_EXIST = new RegExp(
  `\\b(?:(${AUXILIARY})(?: ?not|['" ]?n?'?t| no)|(?<!\\b(?:may|might|could|can|should) )(?:not?)) (?:been |be )?${EXIST}\\b`,
  'g',
)

/** The text with common misspellings corrected. Takes lower case. */
function spelled(text: string): string {
  let right = text.replaceAll(/\\?[´`]|\\'/g, "'")
  for (const each of MISSPELLINGS) right = right.replaceAll(each.pattern, each.right)
  return right.replaceAll(NOT_EXIST, (_, verb: string | undefined) =>
    verb === undefined ? 'nonexistent' : 'does not exist',
  )
}

/** The reply of the server that a call-out asked. */
export interface QuotedReply {
  readonly code: number
  readonly text: string
}

/** Words of a server that verified the recipient at another server (a call-out). */
const CALLOUT =
  /\bcall-?(?:out|ahead|forward|back)\b|\bverif(?:y|ied|ication)\b|\bun(?:deliverable|verified) address\b|\b(?:refused|rejected) by \S{1,100} ?:/

/**
 * A call-out may also have verified the sender; then its reply says nothing about the recipient.
 */
const ABOUT_SENDER = /sender|originator|mail ?from|from address|(?:return|reverse)[ -]path|\byour\b/

/** A code at the point where a quoted reply begins: `said: 550-550 5.1.1 …`. */
const QUOTE =
  /(?:[:"'(]|\b(?:said|says|was|with|response|returned|replied|responded|answered)) ?["'(]? ?([45]\d\d)[ -](?:\1[ -])*/

/** The reply that a call-out quotes, which decides; null if there is none. Takes lower case. */
export function quotedReply(text: string): QuotedReply | null {
  const called = CALLOUT.exec(text)
  if (called === null || ABOUT_SENDER.test(text)) return null
  const rest = text.slice(called.index)
  const match = QUOTE.exec(rest)
  if (match === null) return null
  return { code: Number(match[1]), text: rest.slice(match.index + match[0].length).trim() }
}

/** Characters that end a local part within a sentence. */
const DELIMITERS = ' <>@:;,"\'()[]'

/** Replaces what precedes each `@`, in one linear pass. */
export function maskLocals(text: string, mask: string): string {
  let out = ''
  let from = 0
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at
    while (start > from && !isDelimiter(text[start - 1])) start--
    out += start < at ? `${text.slice(from, start)}${mask}` : text.slice(from, at)
    from = at
  }
  return out + text.slice(from)
}

function isDelimiter(char: string | undefined): boolean {
  return char === undefined || char < ' ' || DELIMITERS.includes(char)
}

/** How a server may write a local part: as it is sent, without quotes, and without backslashes. */
function formsOf({ local }: NamedRecipient): readonly string[] {
  const sent = local.toLowerCase()
  if (!sent.startsWith('"')) return [sent]
  const content = sent.slice(1, -1)
  return [sent, content, content.replaceAll(/\\(.)/gsu, '$1')]
}

/** Masks a local part with a delimiter in it, of which `maskLocals` sees the end only. */
function withoutSplitLocal(text: string, recipient: NamedRecipient): string {
  const [sent = '', ...bare] = formsOf(recipient)
  if (![...sent].some(isDelimiter)) return text
  const whole = sent.startsWith('"') ? text.replaceAll(sent, ANY_LOCAL) : text
  return [sent, ...bare].reduce(
    (masked, form) => masked.replaceAll(`${form}@`, `${ANY_LOCAL}@`),
    whole,
  )
}

/** The characters before and after a text that make it a part of a longer word. */
interface Joins {
  readonly before: RegExp
  /** Matches at the beginning of the two characters that follow. */
  readonly after: RegExp
}

const IN_WORD: Joins = { before: /[\p{L}\p{N}]/u, after: /^[\p{L}\p{N}]/u }
const IN_DOMAIN: Joins = { before: /[\p{L}\p{N}._-]/u, after: /^\.?[\p{L}\p{N}_-]/u }

/**
 * Replaces a word, given in lower case, wherever it is whole, without building a pattern of foreign
 * text.
 */
export function withoutWord(text: string, word: string, mask: string, joins = IN_WORD): string {
  const lower = text.toLowerCase()
  // If lower case changes the length, positions would differ.
  if (lower.length !== text.length) return text
  let out = ''
  let from = 0
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
    const end = at + word.length
    if (joins.before.test(lower[at - 1] ?? '') || joins.after.test(lower.slice(end, end + 2)))
      continue
    out += `${text.slice(from, at)}${mask}`
    from = end
  }
  return out + text.slice(from)
}
