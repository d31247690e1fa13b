/** Blanks, invisible characters and quotes: what a reader may drop before it looks for a formula. */
const SKIPPED = String.raw`['"\s\p{Cc}\p{Cf}]`

/** A character that begins a formula, with all that is skipped before it. Source: OWASP, CSV Injection. */
const SIGN = String.raw`[=+\-@＝＋－＠﹦﹢﹣﹫]`
const FORMULA = `${SKIPPED}*${SIGN}`

const HAS_SIGN = new RegExp(SIGN, 'u')
const STARTS_FORMULA = new RegExp(`^${FORMULA}`, 'u')
const FORMULAS = new RegExp(`(?<!${SKIPPED})${FORMULA}`, 'gu')

/** Where a tab or a line break lets a field begin. */
const BREAK = /\r\n|[\t\r\n\v\f\u0085\u2028\u2029]/g
const GUARDED_BREAK = /(\r\n|[\t\r\n\v\f\u0085\u2028\u2029])'/g

/**
 * First characters that make a cell suspect without a formula behind them (OWASP), and the line by
 * which a file tells Excel its delimiter.
 */
const SUSPECT_START = /^(?:'*[\0\t\r\n]|['"\s]*sep=)/i

/** Whole cells that begin like a formula and are none: a phone number or a plain number. */
const HARMLESS = /^(?:\+\d{1,15}|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** Whatever some reader takes for the end of a field or of a line. */
const NEEDS_QUOTES = /[",;\t\r\n\v\f\u0085\u2028\u2029]/

/**
 * A text as a cell of a CSV line, quoted where needed (RFC 4180).
 *
 * Unless `raw`, a `'` is put wherever a formula would begin for a reader that splits at commas,
 * semicolons, tabs or line breaks, whether it honours quotes or not: at the start of the cell and
 * behind each of those characters. A whole cell that is an E.164 number or a plain number stays.
 * `unguarded` gives the text back.
 * @param hasBars whether the file is split at bars, which then count like commas
 */
export function csvCell(text: string, raw: boolean, hasBars = false): string {
  if (text === '') return ''
  const isDivided = NEEDS_QUOTES.test(text) || (hasBars && text.includes('|'))
  const mustLook = !raw && (mayRun(text) || (isDivided && HAS_SIGN.test(text)))
  const cell = mustLook ? guarded(text, hasBars) : text
  return isDivided || isBlankEdged(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** The text that a guarded cell was made from. */
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

/** Whether a field begins here for a reader that splits at commas or at semicolons, or at bars too. */
function beginsField(text: string, at: number, hasBars: boolean): boolean {
  const before = text.charCodeAt(at - 1)
  return at === 0 || before === COMMA || before === SEMICOLON || (hasBars && before === BAR)
}

const BAR = 124
const COMMA = 44
const SEMICOLON = 59
const EQUALS = 61

/**
 * Letters, digits and most signs cannot begin what runs, and what names a delimiter has its `=` in
 * the fourth place or behind a blank: nearly every cell ends here.
 */
function mayRun(text: string): boolean {
  const first = text.charCodeAt(0)
  const isPlain = (first >= 48 && first <= 57) || (first >= 65 && first <= 122)
  return !isPlain || text.charCodeAt(3) === EQUALS
}

function isBlankEdged(cell: string): boolean {
  return cell.charCodeAt(0) <= 32 || cell.charCodeAt(cell.length - 1) <= 32
}
