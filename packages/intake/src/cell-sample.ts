/** Non-ASCII cells sampled from a whole file. */
export interface CellSample {
  add(bytes: Buffer): void
  /** Distinct cells, in the order of the file. */
  cells(): readonly Buffer[]
}

/** Cells that are kept, and bytes of each. */
const MAX_CELLS = 300
const MAX_CELL_BYTES = 120

/** Bytes at which a cell ends; none of them is part of a character in any encoding. */
const ENDS = new Set([...'\t\n\r",;'].map((char) => char.charCodeAt(0)))

/**
 * A sample of bounded size: when it is full, every second cell is dropped and from then on half as
 * many are taken, so that the whole file is represented.
 */
export function createCellSample(): CellSample {
  let kept: Buffer[] = []
  const known = new Set<string>()
  let stride = 1
  let seen = 0

  function take(cell: Buffer): void {
    seen += 1
    if (seen % stride !== 0) return
    const key = cell.toString('latin1')
    if (known.has(key)) return
    // A bounded set of recent ones is enough.
    if (known.size > MAX_CELLS * 4) known.clear()
    known.add(key)
    kept.push(Buffer.from(cell))
    if (kept.length < MAX_CELLS) return
    kept = kept.filter((_, at) => at % 2 === 1)
    stride *= 2
  }

  return {
    add: (bytes) => {
      for (let at = 0; at < bytes.length;) {
        const high = nextHigh(bytes, at)
        if (high === -1) return
        let start = high
        while (start > at && !ENDS.has(bytes[start - 1] ?? 0)) start -= 1
        let end = high
        while (end < bytes.length && !ENDS.has(bytes[end] ?? 0)) end += 1
        take(bytes.subarray(start, endOfPart(bytes, high, end, start + MAX_CELL_BYTES)))
        at = end + 1
      }
    },
    cells: () => kept,
  }
}

/**
 * Position at which to cut a cell that is too long: at a blank if there is one, so that no
 * character is split.
 */
function endOfPart(bytes: Buffer, high: number, end: number, most: number): number {
  if (end <= most) return end
  const blank = bytes.lastIndexOf(32, most)
  return blank > high ? blank : most
}

function nextHigh(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) if ((bytes[at] ?? 0) > 127) return at
  return -1
}
