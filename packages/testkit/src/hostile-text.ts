/** Repeats a piece up to a length. */
export function pumped(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

/** Lines of one length, each ending with text that makes a pattern backtrack. */
export function pumpedLines(piece: string, lineLength: number, length: number): string {
  return pumped(`${pumped(piece, lineLength - 2)}!\n`, length)
}

/**
 * How many times as long a parser takes for a hostile text as for an ordinary one of the same
 * length, the best of some runs of each: independent of the machine's speed and load.
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
    // A reader that is out of all bounds is not run again.
    if (leastMs > 5_000) break
  }
  return leastMs
}
