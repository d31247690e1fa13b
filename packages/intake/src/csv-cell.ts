/**
 * Blanks, invisible characters and quotes, which a program may skip before it looks for a formula.
 */
const SKIPPED = String.raw`['"\s\p{Cc}\p{Cf}]`

/** A character that begins a formula, after anything skipped. Source: OWASP, CSV Injection. */
const SIGN = String.raw`[=+\-@＝＋－＠﹦﹢﹣﹫]`
const FORMULA = `${SKIPPED}*${SIGN}`

const HAS_SIGN = new RegExp(SIGN, 'u')
const STARTS_FORMULA = new RegExp(`^${FORMULA}`, 'u')
const FORMULAS = new RegExp(`(?<!${SKIPPED})${FORMULA}`, 'gu')

/** Tabs and line breaks, after which some programs begin a new field. */
const BREAK = /\r\n|[\t\r\n\v\f\u0085\u2028\u2029]/g
const GUARDED_BREAK = /(\r\n|[\t\r\n\v\f\u0085\u2028\u2029])'/g

/**
 * First characters that make a cell suspect without a formula (OWASP), and the line that tells
 * Excel the delimiter.
 */
const SUSPECT_START = /^(?:'*[\0\t\r\n]|['"\s]*sep=)/i

/** Cells that begin like a formula but are harmless: a phone number or a plain number. */
const HARMLESS = /^(?:\+\d{1,15}|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** Characters that some programs take for the end of a field or line. */
const NEEDS_QUOTES = /[",;\t\r\n\v\f\u0085\u2028\u2029]/

/**
 * A CSV cell, quoted if needed (RFC 4180). Unless `raw`, a `'` is inserted wherever a formula could
 * begin for a program that splits at commas, semicolons, tabs or line breaks, with or without
 * regard to quotes: at the start of the cell and after each of those characters. A cell that is an
 * E.164 number or a plain number is left unchanged. `unguarded` removes the `'` again.
 * @param hasBars whether the file is delimited by `|`, which then counts like a comma
 */
export function csvCell(text: string, raw: boolean, hasBars = false): string {
  if (text === '') return ''
  const isDivided = NEEDS_QUOTES.test(text) || (hasBars && text.includes('|'))
  const mustLook = !raw && (mayRun(text) || (isDivided && HAS_SIGN.test(text)))
  const cell = mustLook ? guarded(text, hasBars) : text
  return isDivided || isBlankEdged(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** Removes each `'` that `csvCell` has inserted. */
export function unguarded(cell: string, hasBars = false): string {
  if (HARMLESS.test(cell)) return cell
  const text = cell.replace(FORMULAS, (run, at: number) => {
    const own = beginsField(cell, at, hasBars) ? run.slice(1) : run
    return own.replace(GUARDED_BREAK, '$1')
  })
  return cell.startsWith("'") && isSuspectOnly(cell) ? text.slice(1) : text
}

function guarded(text: string, hasBars: boolean): string {
  if (HARMLESS.test(text)) return text
  const cell = text.replace(FORMULAS, (run, at: number) => {
    const guard = beginsField(text, at, hasBars) ? "'" : ''
    return guard + run.replace(BREAK, "$&'")
  })
  return isSuspectOnly(text) ? `'${cell}` : cell
}

function isSuspectOnly(text: string): boolean {
  return SUSPECT_START.test(text) && !STARTS_FORMULA.test(text)
}

/**
 * Whether a field begins here for a program that splits at commas, semicolons or, with `hasBars`,
 * bars.
 */
function beginsField(text: string, at: number, hasBars: boolean): boolean {
  const before = text.charCodeAt(at - 1)
  return at === 0 || before === COMMA || before === SEMICOLON || (hasBars && before === BAR)
}

const BAR = 124
const COMMA = 44
const SEMICOLON = 59
const EQUALS = 61

/**
 * Quick test whether a cell could be run as a formula at all, which excludes nearly every cell:
 * letters, digits and most punctuation cannot begin a formula, and `sep=` has its `=` in the fourth
 * position or after a blank.
 */
function mayRun(text: string): boolean {
  const first = text.charCodeAt(0)
  const isPlain = (first >= 48 && first <= 57) || (first >= 65 && first <= 122)
  return !isPlain || text.charCodeAt(3) === EQUALS
}

function isBlankEdged(cell: string): boolean {
  return cell.charCodeAt(0) <= 32 || cell.charCodeAt(cell.length - 1) <= 32
}
