/**
 * What stands for `\"` and `\\` while records are separated: unpaired surrogates, which no decoded
 * text contains.
 */
const QUOTE = '\udcfd'
const BACKSLASH = '\udcfe'

const ESCAPED = /\\(["\\])/g
const STAND_INS = /[\udcfd\udcfe]/g

/** A text in which escaped quotes and backslashes are no quotes any more. */
export function withStandIns(text: string): string {
  return text.replaceAll(ESCAPED, (_, sign) => (sign === '"' ? QUOTE : BACKSLASH))
}

/** A cell of such a text, as it was before a program escaped it. */
export function unescaped(cell: string): string {
  return cell.replaceAll(STAND_INS, (sign) => (sign === QUOTE ? '"' : '\\'))
}

/**
 * Whether quotes within quoted cells are escaped by backslashes, as MySQL and some exports write
 * them, instead of doubled: only if the quotes of a text do not fit as they are, and all of them do
 * with the escaped ones set aside. A backslash before a quote that ends a cell is one of its text.
 *
 * @param text the start of a file; `cut` if it continues
 */
export function hasBackslashQuotes(
  text: string,
  escaped: string,
  dialect: { readonly delimiter: string; readonly newline: string; readonly cut: boolean },
): boolean {
  return text !== escaped && !areQuotesDoubled(text, dialect) && areQuotesDoubled(escaped, dialect)
}

/** Whether each quote within a quoted cell is doubled, or ends the cell. Source: RFC 4180, section 2. */
function areQuotesDoubled(
  text: string,
  { delimiter, newline, cut }: { delimiter: string; newline: string; cut: boolean },
): boolean {
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const before = text.charAt(at - 1)
    at += 1
    if (before !== '' && before !== delimiter && before !== newline) continue
    for (let isOpen = true; isOpen;) {
      const quote = text.indexOf('"', at)
      if (quote === -1) return cut
      const after = afterQuote(text, quote, delimiter, newline)
      if (after === -1) return false
      isOpen = after === quote
      at = isOpen ? quote + 2 : after
    }
  }
  return true
}

/**
 * Decides what a quote inside a quoted cell is: returns `quote` itself for a doubled one, the index
 * of the delimiter or line end for a closing one, -1 for a loose one, and the length of the text if
 * more text is needed.
 */
export function afterQuote(
  text: string,
  quote: number,
  delimiter: string,
  newline: string,
): number {
  if (text.charAt(quote + 1) === '"') return quote
  for (let at = quote + 1; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === delimiter || char === newline) return at
    if (char.trim() !== '') return -1
  }
  return text.length
}
