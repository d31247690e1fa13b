/** A growing table of 96-bit hashes, each with its ordinal. */
export interface HashTable {
  /** The ordinal of an equal hash, or -1 if this one was added. */
  place(a: number, b: number, c: number): number
  readonly count: number
  /** Bytes that the arrays of the table take. */
  readonly sizeBytes: number
}

/** Hashes are stored in segments, so that growing copies none of them. */
const SEGMENT_HASHES = 1 << 16
const WORDS = 3
const MAX_LOAD = 0.75

/** An empty table: 12 bytes for each hash, and 5 to 11 for its index entry. */
export function createHashTable(): HashTable {
  const segments: Int32Array[] = []
  /** Ordinal + 1 of a hash, or 0 if free; open addressing with linear probing. */
  let index = new Int32Array(1 << 12)
  let count = 0

  function place(a: number, b: number, c: number): number {
    const mask = index.length - 1
    for (let slot = a & mask; ; slot = (slot + 1) & mask) {
      const ordinal = (index[slot] ?? 0) - 1
      if (ordinal < 0) {
        index[slot] = count + 1
        append(a, b, c)
        return -1
      }
      const segment = segmentOf(segments, ordinal)
      const at = (ordinal % SEGMENT_HASHES) * WORDS
      if (segment[at] === a && segment[at + 1] === b && segment[at + 2] === c) return ordinal
    }
  }

  function append(a: number, b: number, c: number): void {
    if (count % SEGMENT_HASHES === 0) segments.push(new Int32Array(SEGMENT_HASHES * WORDS))
    const segment = segmentOf(segments, count)
    const at = (count % SEGMENT_HASHES) * WORDS
    segment[at] = a
    segment[at + 1] = b
    segment[at + 2] = c
    count += 1
    if (count > index.length * MAX_LOAD) grow()
  }

  function grow(): void {
    const { buffer } = index
    index = largerIndex(segments, count, index.length * 2)
    // Detaching frees its megabytes now, not at the next garbage collection.
    buffer.transfer(0)
  }

  return {
    place,
    get count() {
      return count
    },
    get sizeBytes() {
      return segments.length * SEGMENT_HASHES * WORDS * 4 + index.byteLength
    },
  }
}

function largerIndex(
  segments: readonly Int32Array[],
  count: number,
  size: number,
): Int32Array<ArrayBuffer> {
  const index = new Int32Array(size)
  const mask = size - 1
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const hash = segmentOf(segments, ordinal)[(ordinal % SEGMENT_HASHES) * WORDS] ?? 0
    let slot = hash & mask
    while (index[slot] !== 0) slot = (slot + 1) & mask
    index[slot] = ordinal + 1
  }
  return index
}

function segmentOf(segments: readonly Int32Array[], ordinal: number): Int32Array {
  const segment = segments[(ordinal / SEGMENT_HASHES) | 0]
  if (segment === undefined) throw new Error(`no hash ${ordinal} in ${segments.length} segments`)
  return segment
}
