/** Repeats a piece up to a length. */
export function pumped(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

/** Lines of one length; each repeats a piece, and ends so that a regular expression backtracks. */
export function pumpedLines(piece: string, lineLength: number, length: number): string {
  return pumped(`${pumped(piece, lineLength - 2)}!\n`, length)
}

/**
 * The ratio of a parser's time for a hostile text to that for an ordinary one of the same length, the
 * best of some runs of each, so that the machine's speed and load do not matter.
 */
export function slowdown(
  read: (text: string) => unknown,
  hostile: string,
  ordinary: string,
): number {
  return best(read, hostile) / Math.max(LEAST_MS, best(read, ordinary))
}

/** Below this many milliseconds a measurement is unreliable. */
const LEAST_MS = 0.5
const RUNS = 4

function best(read: (text: string) => unknown, text: string): number {
  let leastMs = Infinity
  for (let run = 0; run < RUNS; run++) {
    const startedMs = performance.now()
    read(text)
    leastMs = Math.min(leastMs, performance.now() - startedMs)
    // One run is enough for a parser that takes far too long.
    if (leastMs > 5_000) break
  }
  return leastMs
}
