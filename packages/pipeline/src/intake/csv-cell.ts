/** A cell that a spreadsheet would run, behind any number of blanks and marks. Source: OWASP, CSV Injection. */
const RUNS = /^'*(?:[\0\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u

/** Whole cells that begin like a formula and are none: a phone number or a plain number. */
const HARMLESS = /^(?:\+\d{1,15}|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** Semicolon and tab too, for programs that split by those. */
const NEEDS_QUOTES = /[",;\t\r\n]/

/**
 * A text as a cell of a CSV line, quoted where needed (RFC 4180).
 *
 * Unless `raw`, a cell that a spreadsheet would run as a formula gets one `'` in front, except when
 * the whole cell is an E.164 number or a plain number; `unguarded` takes it off again.
 */
export function csvCell(text: string, raw: boolean): string {
  if (text === '') return ''
  const cell = !raw && mayRun(text.charCodeAt(0)) && isRun(text) ? `'${text}` : text
  return NEEDS_QUOTES.test(cell) || isBlankEdged(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** The text that a guarded cell was made from. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") && isRun(cell.slice(1)) ? cell.slice(1) : cell
}

function isRun(text: string): boolean {
  return RUNS.test(text) && !HARMLESS.test(text)
}

/** Letters, digits and most signs cannot begin what runs: nearly every cell ends here. */
function mayRun(first: number): boolean {
  return !((first >= 48 && first <= 57) || (first >= 65 && first <= 122)) && first !== 34
}

function isBlankEdged(cell: string): boolean {
  return cell.charCodeAt(0) <= 32 || cell.charCodeAt(cell.length - 1) <= 32
}
