/** Runs `make` for a key, unless a run for the same key is under way, whose result then serves. */
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
 * Callers who ask the same at the same time share one run. What came of a run whose own signal ended
 * serves nobody else: the next caller begins anew. A fault reaches all who waited for it.
 */
export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()
  return async (key, signal, make) => {
    for (let flight = flights.get(key); flight !== undefined; flight = flights.get(key)) {
      const result = await flight.result
      if (!flight.signal.aborted) return result
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
