import { quantile } from './figure.ts'

/** A load: a number of calls, and how many are made concurrently. */
export interface Load {
  readonly calls: number
  readonly atOnce: number
}

/** The measured rate and response times of a load. */
export interface LoadResult {
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Runs loads one after the other. @throws if a call fails */
export async function runLoads(
  loads: readonly Load[],
  call: (at: number, connection: number) => Promise<void>,
): Promise<readonly LoadResult[]> {
  const results: LoadResult[] = []
  for (const { calls, atOnce } of loads) {
    const timesMs: number[] = []
    let begun = 0
    const startMs = performance.now()
    const connections = Array.from({ length: atOnce }, async (_, connection) => {
      while (begun < calls) {
        const at = (begun += 1)
        const sentMs = performance.now()
        await call(at, connection)
        timesMs.push(performance.now() - sentMs)
      }
    })
    await Promise.all(connections)
    const seconds = (performance.now() - startMs) / 1_000
    results.push({
      callsPerSecond: calls / seconds,
      p50Ms: quantile(timesMs, 0.5),
      p99Ms: quantile(timesMs, 0.99),
    })
  }
  return results
}
