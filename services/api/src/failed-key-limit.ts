import type { RateLimit, RateState } from './rate-limit.ts'

/** Limits how many requests with an invalid key an address may send. */
export interface FailedKeyLimit {
  /** Reserves a failure before a key is looked up, until disposed of; undefined if none is left. */
  reserve(network: string): Disposable | undefined
  /** Counts a failure. */
  take(network: string): Promise<RateState>
  /** Milliseconds until a blocked address may try again. */
  readonly retryMs: number
}

/** Settings of counting failures. */
export interface FailedKeyLimitOptions {
  /** The limit, across processes where they share a limiter. */
  readonly rate: RateLimit
  readonly perMinute: number
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** Addresses remembered at most. */
const KNOWN_MAX = 50_000

/** Failures that an address had left after its last failure. */
interface Left {
  count: number
  readonly at: number
  /** Keys of the address that are being looked up. */
  looking: number
}

/**
 * Makes the limit. An address may fail as often as after its last failure, plus the refill since,
 * less the keys being looked up, which may fail too.
 */
export function createFailedKeyLimit(options: FailedKeyLimitOptions): FailedKeyLimit {
  const { rate, perMinute, now = () => performance.now() } = options
  const perMs = perMinute / 60_000
  const known = new Map<string, Left>()

  function leftOf(network: string): Left {
    const held = known.get(network)
    const at = now()
    const count =
      held === undefined ? perMinute : Math.min(perMinute, held.count + (at - held.at) * perMs)
    return { count, at, looking: held?.looking ?? 0 }
  }

  function note(network: string, left: Left): void {
    // Map order: the least recently updated is first.
    known.delete(network)
    if (left.count >= perMinute && left.looking === 0) return
    const [oldest] = known.keys()
    if (known.size >= KNOWN_MAX && oldest !== undefined) known.delete(oldest)
    known.set(network, left)
  }

  function look(network: string, count: number): void {
    const left = leftOf(network)
    note(network, { ...left, looking: Math.max(0, left.looking + count) })
  }

  return {
    reserve: (network) => {
      const { count, looking } = leftOf(network)
      if (count - looking < 1) return undefined
      look(network, 1)
      return { [Symbol.dispose]: () => look(network, -1) }
    },
    take: async (network) => {
      const state = await rate.take(network)
      note(network, { ...leftOf(network), count: state.granted ? state.remaining : 0 })
      return state
    },
    retryMs: Math.ceil(1 / perMs),
  }
}
