import type { RateLimit, RateState } from './rate-limit.ts'

/** The failures that an address may have with its keys. */
export interface FailedKeyLimit {
  /** Takes a failure ahead, before it is asked whether a key is good; undefined where none is left. */
  expect(network: string): Disposable | undefined
  /** Counts a failure. */
  take(network: string): Promise<RateState>
  /** After so long an address has a failure again that had none left. */
  readonly retryMs: number
}

/** What failures are counted by. */
export interface FailedKeyLimitOptions {
  /** Counts them, over all processes where they share a limiter. */
  readonly rate: RateLimit
  readonly perMinute: number
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

/** Addresses remembered at most. */
const KNOWN_MAX = 50_000

/** Failures that an address had left when that was last heard. */
interface Left {
  count: number
  readonly at: number
  /** Keys of it that are being asked for. */
  looking: number
}

/**
 * Makes the count of failed keys by address. What an address has left is what was last heard of it and
 * has come back since, less the keys that are being asked for and may fail, too.
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
    // The longest unheard of are first.
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
    expect: (network) => {
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
