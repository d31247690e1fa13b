import { quantile } from './figure.ts'

/** A number of calls, and how many are made concurrently. */
export interface Drive {
  readonly calls: number
  readonly atOnce: number
}

export interface Driven {
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Makes the calls of each drive, one drive after the other; throws if a call fails. */
export async function drive(
  drives: readonly Drive[],
  call: (at: number, lane: number) => Promise<void>,
): Promise<readonly Driven[]> {
  const driven: Driven[] = []
  for (const { calls, atOnce } of drives) {
    const timesMs: number[] = []
    let begun = 0
    const startMs = performance.now()
    const lanes = Array.from({ length: atOnce }, async (_, lane) => {
      while (begun < calls) {
        const at = (begun += 1)
        const sentMs = performance.now()
        await call(at, lane)
        timesMs.push(performance.now() - sentMs)
      }
    })
    await Promise.all(lanes)
    const seconds = (performance.now() - startMs) / 1_000
    driven.push({
      callsPerSecond: calls / seconds,
      p50Ms: quantile(timesMs, 0.5),
      p99Ms: quantile(timesMs, 0.99),
    })
  }
  return driven
}
