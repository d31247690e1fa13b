/** A recipient as it is sent. */
export interface NamedRecipient {
  readonly local: string
  /** Lower-case A-labels. */
  readonly domain: string
}

/** A shorter local part is too likely to be a word of the reply itself. */
const LOCAL_MIN_CHARS = 3

/** What stands for a local part, and for the recipient's domain. */
const ANY_LOCAL = 'someone'
const ANY_DOMAIN = 'x.example'

/** Local parts without a domain between them, which no address has. */
const MASKED_RUN = /(?:someone@){2,}/g

/**
 * A text in lower case with local parts and the recipient's domain masked, since they may contain any
 * word.
 */
export function withoutAddresses(lower: string, recipient?: NamedRecipient): string {
  const whole = recipient === undefined ? lower : withoutSplitLocal(lower, recipient)
  const locals = maskLocals(whole, ANY_LOCAL)
  const masked =
    recipient === undefined ? locals : withoutWord(locals, recipient.domain, ANY_DOMAIN, IN_DOMAIN)
  return masked.replaceAll(MASKED_RUN, `${ANY_LOCAL}@`)
}

/** A text in lower case with the recipient's local part masked, also where no `@` follows. */
export function withoutLocal(lower: string, recipient: NamedRecipient): string {
  return formsOf(recipient).reduce(
    (rest, form) => (form.length < LOCAL_MIN_CHARS ? rest : withoutWord(rest, form, ANY_LOCAL)),
    lower,
  )
}

/** A reply's text as evidence: one line, without the address, at most 200 characters. */
export function maskedText(text: string, local: string): string {
  const short = text.slice(0, 2000)
  // Most replies are plain words; what follows costs much more than this test.
  const plain = PLAIN_TEXT.test(short) ? short : short.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  const word = local.toLowerCase()
  const masked = maskLocals(plain, '***')
  const nameless = word.length < LOCAL_MIN_CHARS ? masked : withoutWord(masked, word, '***')
  // The cut may split a surrogate pair.
  return nameless.slice(0, 200).toWellFormed()
}

/** Printable ASCII with single spaces inside. */
const PLAIN_TEXT = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

/** Characters that end a local part within a sentence. */
const DELIMITERS = ' <>@:;,"\'()[]'

/** Replaces what precedes each `@`, in one linear pass. */
function maskLocals(text: string, mask: string): string {
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
function withoutWord(text: string, word: string, mask: string, joins = IN_WORD): string {
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
