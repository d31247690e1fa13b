/** A line, or `undefined` for one that was over the limit and is not kept. */
export type Line = string | undefined

/** Cuts text that comes in pieces into lines, without their ends. */
export interface LineReader {
  push(text: string): Line[]
  end(): Line[]
}

/** A reader whose memory is bounded by `maxChars` and the size of the pieces. */
export function createLineReader(newline: '\n' | '\r', maxChars: number): LineReader {
  let rest = ''
  let skipping = false

  function push(text: string): Line[] {
    const lines: Line[] = (rest + text).split(newline)
    rest = lines.pop() ?? ''
    if (skipping && lines.length > 0) {
      lines[0] = undefined
      skipping = false
    }
    for (const [at, line] of lines.entries()) {
      if (line === undefined) continue
      if (line.length > maxChars) lines[at] = undefined
      else if (line.endsWith('\r')) lines[at] = line.slice(0, -1)
    }
    if (rest.length > maxChars) skipping = true
    if (skipping) rest = ''
    return lines
  }

  return { push, end: () => (rest === '' && !skipping ? [] : push(newline)) }
}
