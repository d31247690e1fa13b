/** A growing set of row numbers, stored as a bitmap. */
export interface RowSet {
  add(row: number): void
  has(row: number): boolean
  /**
   * The `rank`-th smallest member, counted from 0; members must have been added in ascending order.
   */
  at(rank: number): number
  readonly count: number
  /** Bytes that the arrays of the set take. */
  readonly sizeBytes: number
  /** One bit a row, lowest bit first; as long as the highest member needs. */
  toBuffer(): Buffer
}

/** Members per directory entry. */
const BLOCK_ROWS = 2048
const BLOCK_WORDS = BLOCK_ROWS / 32

/** An empty set; takes an eighth of a byte per row, up to the largest member. */
export function createRowSet(): RowSet {
  let words = new Uint32Array(BLOCK_WORDS)
  /** Number of members before each block. */
  let before = new Uint32Array(16)
  let count = 0
  let block = 0
  let highest = -1

  function add(row: number): void {
    const word = row >>> 5
    if (word >= words.length) words = grown(words, word + 1)
    while (block < Math.floor(row / BLOCK_ROWS)) {
      block += 1
      if (block >= before.length) before = grown(before, block + 1)
      before[block] = count
    }
    const bit = 1 << (row & 31)
    const held = words[word] ?? 0
    if ((held & bit) !== 0) return
    words[word] = held | bit
    count += 1
    if (row > highest) highest = row
  }

  function at(rank: number): number {
    let low = 0
    let high = block
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((before[middle] ?? 0) <= rank) low = middle
      else high = middle - 1
    }
    let left = rank - (before[low] ?? 0)
    for (let word = low * BLOCK_WORDS; word < words.length; word++) {
      const held = words[word] ?? 0
      const members = popCount(held)
      if (left < members) return word * 32 + bitAt(held, left)
      left -= members
    }
    throw new RangeError(`rank ${rank} of ${count}`)
  }

  return {
    add,
    at,
    has: (row) => (((words[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1,
    get count() {
      return count
    },
    get sizeBytes() {
      return words.byteLength + before.byteLength
    },
    toBuffer: () => {
      const bytes = Buffer.alloc((highest + 8) >>> 3)
      for (let byte = 0; byte < bytes.length; byte++) {
        bytes[byte] = (words[byte >>> 2] ?? 0) >>> ((byte & 3) * 8)
      }
      return bytes
    },
  }
}

function grown(array: Uint32Array<ArrayBuffer>, needed: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(needed, array.length * 2))
  larger.set(array)
  return larger
}

function popCount(word: number): number {
  let count = word - ((word >>> 1) & 0x55555555)
  count = (count & 0x33333333) + ((count >>> 2) & 0x33333333)
  return Math.imul((count + (count >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

function bitAt(word: number, rank: number): number {
  let rest = word
  for (let skipped = 0; skipped < rank; skipped++) rest &= rest - 1
  return 31 - Math.clz32(rest & -rest)
}
