/** Runs `make` for a key; if a run for the same key is under way, shares its result. */
export type SingleFlight<T> = (
  key: string,
  signal: AbortSignal,
  make: () => Promise<T>,
) => Promise<T>

interface Flight<T> {
  readonly result: Promise<T>
  readonly signal: AbortSignal
}

/**
 * Concurrent callers with the same key share one run. A result that `isOwn` marks as useful to its
 * own caller only is not shared: the next caller starts a new run. By default those are results of
 * runs whose own signal aborted. An error rejects all who waited for it.
 */
export function createSingleFlight<T>(
  isOwn: (result: T, signal: AbortSignal) => boolean = (_result, signal) => signal.aborted,
): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()
  return async (key, signal, make) => {
    for (let flight = flights.get(key); flight !== undefined; flight = flights.get(key)) {
      const result = await flight.result
      if (!isOwn(result, flight.signal)) return result
      if (flights.get(key) === flight) flights.delete(key)
    }
    const begun = { result: make(), signal }
    flights.set(key, begun)
    try {
      return await begun.result
    } finally {
      if (flights.get(key) === begun) flights.delete(key)
    }
  }
}
