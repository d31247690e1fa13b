import { createSingleFlight } from '@plumbline/concurrency/single-flight'
import type { DnsCaller } from '@plumbline/net/resolver'
import { checkDelegation } from './delegation.ts'
import type { Delegation, DelegationOptions } from './delegation.ts'

/** Finds the delegation of a zone; that of one which was checked just now is not checked again. */
export type DelegationCache = (
  zone: string,
  caller: DnsCaller,
  options: DelegationOptions,
) => Promise<Delegation>

/** Zones held in this process, and for how long: names of one zone query its servers once. */
const ZONES_MAX = 1_000
const HELD_MS = 60_000

/** Makes the cache of one engine. `now` in milliseconds, monotonic. */
export function createDelegationCache(now: () => number): DelegationCache {
  const held = new Map<string, { readonly delegation: Delegation; readonly untilMs: number }>()
  const shared = createSingleFlight<Delegation>()
  return (zone, { lane, account }, options) => {
    const known = held.get(zone)
    if (known !== undefined && known.untilMs > now()) return Promise.resolve(known.delegation)
    // The lookups of a batch wait for others, and those of another account for that account's turn.
    return shared(`${lane} ${account} ${zone}`, options.signal, async () => {
      const delegation = await checkDelegation(zone, options)
      if (options.signal.aborted || delegation.state === 'unknown') return delegation
      held.delete(zone)
      held.set(zone, { delegation, untilMs: now() + HELD_MS })
      const [oldest] = held.keys()
      if (held.size > ZONES_MAX && oldest !== undefined) held.delete(oldest)
      return delegation
    })
  }
}
