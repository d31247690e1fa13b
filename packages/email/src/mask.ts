/** What ends a local part inside a sentence. */
const DELIMITERS = ' <>@:;,"\'()[]'

/** Puts a word in the place of what stands before each `@`, in one pass whatever the text is. */
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
