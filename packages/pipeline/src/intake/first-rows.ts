import { randomBytes } from 'node:crypto'
import { createRowSet } from './bits.ts'

/** Finds identical records; holds 128 bits of hash for each different one, and no text. */
export interface FirstRows {
  /** The row of the first record with these subjects, or -1 when it is this one. */
  find(row: number, ...subjects: readonly (string | undefined)[]): number
  readonly count: number
  /** Bytes of its tables. */
  readonly sizeBytes: number
}

/** Hashes are kept in segments, so that growth copies none of them. */
const SEGMENT_HASHES = 1 << 16
const WORDS = 4

/**
 * An empty table. Rows must be given in rising order.
 *
 * 16 bytes for each different record, 5 to 11 for its place in the index, an eighth for each row: 5,000,000
 * records take about 115 MB. Two different records of a list meet with a chance of 2^-83 at that size.
 * The seed is random, so that nobody can prepare a list whose records all fall on one place.
 */
export function createFirstRows(seed: Buffer = randomBytes(16)): FirstRows {
  const seeds = [0, 4, 8, 12].map((at) => seed.readInt32LE(at))
  const [seed0 = 0, seed1 = 0, seed2 = 0, seed3 = 0] = seeds
  const segments: Int32Array[] = []
  /** Ordinal + 1 of a hash, or 0 where free; searched onward from the hash's own place. */
  let index = new Int32Array(1 << 12)
  let count = 0
  const rows = createRowSet()

  function find(row: number, ...subjects: readonly (string | undefined)[]): number {
    let a = seed0
    let b = seed1
    let c = seed2
    let d = seed3
    for (const subject of subjects) {
      const text = subject ?? ''
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        a = Math.imul(a ^ code, 0x239d8b45) ^ b
        b = Math.imul(b ^ code, 0x9e3779b1) ^ (c >>> 15)
        c = Math.imul(c ^ code, 0x85ebca6b) ^ (d << 7)
        d = Math.imul(d ^ code, 0x27d4eb2f) ^ (a >>> 13)
      }
      // A mark that no character gives, different for an absent subject and an empty one.
      const mark = subject === undefined ? 0x1ffff : 0x10000
      a = Math.imul(a ^ mark, 0x165667b1) ^ (d >>> 11)
      b = Math.imul(b ^ mark, 0x2c1b3c6d) ^ a
      c = Math.imul(c ^ mark, 0x297a2d39) ^ b
      d = Math.imul(d ^ mark, 0x7feb352d) ^ c
    }
    return place(
      row,
      mixed(a ^ (b >>> 16)),
      mixed(b ^ (c >>> 16)),
      mixed(c ^ (d >>> 16)),
      mixed(d ^ (a >>> 16)),
    )
  }

  function place(row: number, a: number, b: number, c: number, d: number): number {
    const mask = index.length - 1
    for (let slot = a & mask; ; slot = (slot + 1) & mask) {
      const ordinal = (index[slot] ?? 0) - 1
      if (ordinal < 0) {
        index[slot] = count + 1
        append(row, a, b, c, d)
        return -1
      }
      const segment = segmentOf(ordinal)
      const at = (ordinal % SEGMENT_HASHES) * WORDS
      const same =
        segment[at] === a && segment[at + 1] === b && segment[at + 2] === c && segment[at + 3] === d
      if (same) return rows.at(ordinal)
    }
  }

  function append(row: number, a: number, b: number, c: number, d: number): void {
    if (count % SEGMENT_HASHES === 0) segments.push(new Int32Array(SEGMENT_HASHES * WORDS))
    const segment = segmentOf(count)
    const at = (count % SEGMENT_HASHES) * WORDS
    segment[at] = a
    segment[at + 1] = b
    segment[at + 2] = c
    segment[at + 3] = d
    rows.add(row)
    count += 1
    if (count > index.length * 0.75) growIndex()
  }

  function growIndex(): void {
    const larger = new Int32Array(index.length * 2)
    const mask = larger.length - 1
    for (let ordinal = 0; ordinal < count; ordinal++) {
      let slot = (segmentOf(ordinal)[(ordinal % SEGMENT_HASHES) * WORDS] ?? 0) & mask
      while (larger[slot] !== 0) slot = (slot + 1) & mask
      larger[slot] = ordinal + 1
    }
    index = larger
  }

  function segmentOf(ordinal: number): Int32Array {
    const segment = segments[(ordinal / SEGMENT_HASHES) | 0]
    if (segment === undefined) throw new Error(`no hash ${ordinal} of ${count}`)
    return segment
  }

  return {
    find,
    get count() {
      return count
    },
    get sizeBytes() {
      return segments.length * SEGMENT_HASHES * WORDS * 4 + index.byteLength + (rows.count >> 3)
    },
  }
}

/** The last step of MurmurHash3: every bit of the input moves every bit of the output. */
function mixed(word: number): number {
  let hash = word
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
