/** A row of one of two sequences, or the same row of both. */
export type AlignedRow<T> =
  | { readonly kind: 'both'; readonly left: T; readonly right: T }
  | { readonly kind: 'left'; readonly left: T }
  | { readonly kind: 'right'; readonly right: T }

/** Rows of each sequence that are held in memory and searched for a moved row. */
const WINDOW_ROWS = 1_000

/**
 * Matches the rows of two sequences by a key, in order: rows that were added, left out or replaced
 * belong to one sequence only. Holds some thousand rows of each, however long they are.
 */
export async function* alignRows<T>(
  left: AsyncIterable<readonly T[]>,
  right: AsyncIterable<readonly T[]>,
  keyOf: (row: T) => string,
): AsyncGenerator<AlignedRow<T>, void, undefined> {
  await using ofLeft = windowOf(left, keyOf)
  await using ofRight = windowOf(right, keyOf)
  for (;;) {
    await ofLeft.fill()
    await ofRight.fill()
    const one = ofLeft.first()
    const other = ofRight.first()
    if (one === undefined && other === undefined) return
    if (one !== undefined && other !== undefined && keyOf(one) === keyOf(other)) {
      yield { kind: 'both', left: ofLeft.take(), right: ofRight.take() }
      continue
    }
    const { fromLeft, fromRight } = skipped(ofLeft, ofRight, keyOf)
    for (let count = 0; count < fromLeft; count++) yield { kind: 'left', left: ofLeft.take() }
    for (let count = 0; count < fromRight; count++) yield { kind: 'right', right: ofRight.take() }
  }
}

/** How many rows of each sequence to skip, up to the next row that both may have. */
function skipped<T>(
  left: Window<T>,
  right: Window<T>,
  keyOf: (row: T) => string,
): { readonly fromLeft: number; readonly fromRight: number } {
  const one = left.first()
  const other = right.first()
  if (one === undefined) return { fromLeft: 0, fromRight: right.size() }
  if (other === undefined) return { fromLeft: left.size(), fromRight: 0 }
  const inLeft = left.placeOf(keyOf(other))
  const inRight = right.placeOf(keyOf(one))
  if (inLeft === undefined && inRight === undefined) return { fromLeft: 1, fromRight: 1 }
  return (inLeft ?? Infinity) <= (inRight ?? Infinity)
    ? { fromLeft: inLeft ?? 0, fromRight: 0 }
    : { fromLeft: 0, fromRight: inRight ?? 0 }
}

/** The next rows of a sequence. */
interface Window<T> extends AsyncDisposable {
  fill(): Promise<void>
  first(): T | undefined
  take(): T
  size(): number
  /** Distance to the next row with a key; undefined if none is held. */
  placeOf(key: string): number | undefined
}

function windowOf<T>(list: AsyncIterable<readonly T[]>, keyOf: (row: T) => string): Window<T> {
  const rows = list[Symbol.asyncIterator]()
  let held: T[] = []
  let start = 0
  let ended = false
  /** How often each held key occurs: most keys that are looked up are not held. */
  const counts = new Map<string, number>()
  return {
    fill: async () => {
      while (!ended && held.length - start < WINDOW_ROWS) {
        const next = await rows.next()
        if (next.done === true) {
          ended = true
          return
        }
        held = [...held.slice(start), ...next.value]
        start = 0
        for (const row of next.value) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
      }
    },
    first: () => held[start],
    take: () => {
      const row = held[start]
      if (row === undefined) throw new Error('no row is left to take')
      start++
      const left = (counts.get(keyOf(row)) ?? 1) - 1
      if (left === 0) counts.delete(keyOf(row))
      else counts.set(keyOf(row), left)
      return row
    },
    size: () => held.length - start,
    placeOf: (key) => {
      if (!counts.has(key)) return undefined
      for (let at = start; at < held.length; at++) {
        const row = held[at]
        if (row !== undefined && keyOf(row) === key) return at - start
      }
      return undefined
    },
    [Symbol.asyncDispose]: async () => {
      await rows.return?.()
    },
  }
}
