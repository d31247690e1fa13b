import { isUtf8 } from 'node:buffer'

/** Counts of valid and invalid UTF-8. */
export interface Utf8Counts {
  /** Valid sequences of several bytes. */
  whole: number
  /** Bytes in no valid sequence. */
  broken: number
}

/** Adds the counts of some bytes. */
export function countUtf8(bytes: Buffer, counts: Utf8Counts): void {
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) {
      at += 1
      continue
    }
    const length = sequenceLength(byte)
    if (length > 1 && isSequence(bytes, at, length)) {
      counts.whole += 1
      at += length
    } else {
      counts.broken += 1
      at += 1
    }
  }
}

function isSequence(bytes: Buffer, at: number, length: number): boolean {
  if (((bytes[at + 1] ?? 0) & 0xc0) !== 0x80) return false
  return length === 2 || (at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)))
}

/** How many bytes at the end begin a UTF-8 sequence that is incomplete: 0 to 3. */
export function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return sequenceLength(byte) > back ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

/**
 * Length of the sequence that a lead byte begins; 1 for other bytes. Source: RFC 3629, section 4.
 */
function sequenceLength(lead: number): number {
  if (lead >= 0xc2 && lead < 0xe0) return 2
  if (lead >= 0xe0 && lead < 0xf0) return 3
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 1
}
