/** Letters without accents, so that a word has one spelling. Hangul is recomposed. */
export function folded(text: string): string {
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
export function spelled(text: string): string {
  let right = text.replaceAll(/\\?[´`]|\\'/g, "'")
  for (const each of MISSPELLINGS) right = right.replaceAll(each.pattern, each.right)
  return right.replaceAll(NOT_EXIST, (_, verb: string | undefined) =>
    verb === undefined ? 'nonexistent' : 'does not exist',
  )
}
