/** Runs `make` for a key unless another run for the same key is under way, whose result then serves. */
type Flights<T> = (key: string, signal: AbortSignal, make: () => Promise<T>) => Promise<T>

interface Flight<T> {
  readonly result: Promise<T>
  readonly signal: AbortSignal
}

/**
 * Makes flights. What came of one whose own signal ended serves nobody else: the next begins anew.
 * A fault reaches everybody who waited for it.
 */
export function createFlights<T>(): Flights<T> {
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
