import type { DecodeFault } from './encoding.ts'
import { IntakeError } from './intake-error.ts'

/** The error for undecodable bytes, with their line number, counted by reading the chunks again. */
export function faultOfBytes(fault: DecodeFault, chunks: Iterable<Buffer>): IntakeError {
  const counter = createLineCounter(fault)
  for (const chunk of chunks) counter.count(chunk)
  return counter.error()
}

/** Counts lines up to a fault in chunks that are read again. */
export interface LineCounter {
  count(chunk: Buffer): void
  error(): IntakeError
}

/** A counter of the lines before a fault. */
export function createLineCounter(fault: DecodeFault): LineCounter {
  const wide = fault.encoding === 'utf-16le' || fault.encoding === 'utf-16be'
  /** Offset of the line feed byte in a UTF-16 unit, which depends on the byte order. */
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
