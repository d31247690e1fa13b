import { isOver } from './limits.ts'

/** A line, or `undefined` for one that exceeded the limit and was skipped. */
export type Line = string | undefined

/** Splits text that arrives in pieces into lines, without line ends. */
export interface LineReader {
  push(text: string): Line[]
  end(): Line[]
}

/**
 * A reader whose memory is bounded by `maxBytes` (of a line without its end) and the size of the
 * pieces.
 */
export function createLineReader(newline: '\n' | '\r', maxBytes: number): LineReader {
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
      const ended = line.endsWith('\r') ? line.slice(0, -1) : line
      lines[at] = isOver(ended, maxBytes) ? undefined : ended
    }
    // One more may be half of the line end.
    if (rest.length > maxBytes + 1) skipping = true
    if (skipping) rest = ''
    return lines
  }

  function end(): Line[] {
    rest = lastLine(rest, newline)
    return rest === '' && !skipping ? [] : push(newline)
  }

  return { push, end }
}

/** What is left behind the last line end, without the `\n` with which an old Macintosh file may end. */
export function lastLine(rest: string, newline: '\n' | '\r'): string {
  return newline === '\r' && rest.endsWith('\n') ? rest.slice(0, -1) : rest
}
