import { isAscii, isUtf8 } from 'node:buffer'
import type { Encoding } from '@plumbline/contract/encodings'
import { createCellSample } from './cell-sample.ts'
import { encodingOfStart, utf8MarkBytes, type FoundEncoding } from './encoding.ts'
import { guessEncoding } from './guess-encoding.ts'
import { countUtf8, incompleteTail, type Utf8Counts } from './utf8.ts'

/** Text with at least this ratio of valid UTF-8 sequences to invalid bytes is UTF-8 with errors. */
const WHOLE_TO_BROKEN = 3

/** Sequences and bytes after which counting stops. */
const ENOUGH_WHOLE = 1_000_000
const ENOUGH_BROKEN = 200_000

/**
 * The encoding of a whole text: the requested one, else by a byte order mark, else by zero bytes,
 * else UTF-8 if all or most non-ASCII bytes are valid UTF-8, else guessed from the non-ASCII cells
 * of the whole file.
 *
 * @param start the first few kilobytes
 * @param chunks all bytes; not read if the start determines the encoding
 */
export async function scanEncoding(
  start: Buffer,
  asked: Encoding | undefined,
  chunks: () => AsyncIterable<Buffer>,
): Promise<FoundEncoding> {
  const told = encodingOfStart(start, asked)
  if (told !== undefined) return told
  const markBytes = utf8MarkBytes(start)
  const counts: Utf8Counts = { whole: 0, broken: 0 }
  const sample = createCellSample()
  let rest: Buffer = Buffer.alloc(0)
  let isPlain = true
  for await (const chunk of chunks()) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const held = incompleteTail(bytes)
    const whole = held === 0 ? bytes : bytes.subarray(0, bytes.length - held)
    rest = Buffer.from(bytes.subarray(whole.length))
    if (isAscii(whole)) continue
    isPlain = false
    if (isUtf8(whole)) {
      countWhole(whole, counts)
      continue
    }
    if (counts.broken < ENOUGH_BROKEN) countUtf8(whole, counts)
    sample.add(whole)
  }
  if (rest.length > 0) {
    isPlain = false
    countUtf8(rest, counts)
    sample.add(rest)
  }
  if (isPlain) return { encoding: 'utf-8', markBytes, confidence: 1 }
  if (counts.whole > WHOLE_TO_BROKEN * counts.broken || markBytes > 0) {
    const share = counts.whole / Math.max(1, counts.whole + counts.broken)
    const confidence = counts.broken === 0 ? 1 : Math.max(0.5, Math.round(share * 100) / 100)
    return { encoding: 'utf-8', markBytes, confidence: Math.min(confidence, 1) }
  }
  return { ...(await guessEncoding(sample.cells())), markBytes: 0 }
}

/** Counts valid UTF-8 sequences of several bytes. */
function countWhole(bytes: Buffer, counts: Utf8Counts): void {
  for (let at = 0; at < bytes.length && counts.whole < ENOUGH_WHOLE; at++) {
    if ((bytes[at] ?? 0) >= 0xc0) counts.whole += 1
  }
}
