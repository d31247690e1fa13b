/** A 32-bit hash of a seed and a text. Source: FNV-1a with the finalizer of MurmurHash3. */
export function hash32(seed: number, text: string): number {
  let h = (0x811c9dc5 ^ seed) >>> 0
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** A hash of a seed and a text, as a number in [0, 1). */
export function hashFraction(seed: number, text: string): number {
  return hash32(seed, text) / 0x1_0000_0000
}

/** A random number generator: mulberry32. */
export interface Random {
  next(): number
  /** An integer in [0, below). */
  int(below: number): number
  pick<T>(from: readonly T[]): T
  /** True once in `times` on average. */
  oneIn(times: number): boolean
}

/** Creates a generator; the same seed and name give the same numbers. */
export function createRandom(seed: number, name: string): Random {
  let state = hash32(seed, name)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    next,
    int,
    pick: (from) => at(from, int(from.length)),
    oneIn: (times) => next() * times < 1,
  }
}

/** The element at an index modulo the length; throws for an empty list. */
export function at<T>(from: readonly T[], index: number): T {
  const found = from[index % from.length]
  if (found === undefined) throw new Error(`no element ${index} in a list of ${from.length}`)
  return found
}
