import type { DecodeFault } from './encoding.ts'
import { IntakeError } from './intake-error.ts'

/** The error for bytes that are no text, with its line, counted over the chunks before it. */
export function faultOfBytes(fault: DecodeFault, chunks: Iterable<Buffer>): IntakeError {
  const counter = createLineCounter(fault)
  for (const chunk of chunks) counter.count(chunk)
  return counter.error()
}

/** Counts lines up to a fault, over chunks that are read again. */
export interface LineCounter {
  count(chunk: Buffer): void
  error(): IntakeError
}

/** A counter of the lines before a fault. */
export function createLineCounter(fault: DecodeFault): LineCounter {
  const wide = fault.encoding === 'utf-16le' || fault.encoding === 'utf-16be'
  /** In UTF-16 a line feed is this byte beside a zero; which of the two it is goes by the side. */
  const side = fault.encoding === 'utf-16le' ? 0 : 1
  let left = fault.offsetBytes
  let seen = 0
  let line = 1
  return {
    count: (chunk) => {
      const part = chunk.subarray(0, Math.max(0, left))
      for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) {
        if (!wide || ((seen + at) % 2 === side && part[at + (side === 0 ? 1 : -1)] === 0)) line += 1
      }
      left -= part.length
      seen += part.length
    },
    error: () => {
      const message =
        fault.what === 'nul'
          ? `Line ${line} holds a NUL byte; the file is not text.`
          : `Line ${line} is not valid ${fault.encoding.toUpperCase()}; save the file as UTF-8.`
      return new IntakeError('unprocessable', message, { cause: fault, line })
    },
  }
}
