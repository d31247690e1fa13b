import { pauseLeftMs } from '@plumbline/concurrency/pause'
import type { Memory } from '@plumbline/ports/memory'
import { transition, type PoolState } from './pool-state.ts'

/** Stops probing a group that refuses us, in all workers. */
export interface CircuitBreaker {
  state(): PoolState<'circuit'>
  /** Milliseconds until the group may be probed again; 0 if it may. */
  openMs(): number
  /**
   * Records a transaction in which we were refused and no recipient was accepted.
   *
   * @param customer the customer of the group whose settings may be the reason; null if the group
   * itself has refused us
   */
  refused(customer: string | null): void
  accepted(): void
  /** Reads whether another worker has opened the breaker; at most every 30 s. */
  refresh(): Promise<void>
}

/** Consecutive refusals that open the breaker. */
const REFUSALS_TO_OPEN = 3

/**
 * Customers of one provider that refuse us, without one that accepts, until the provider counts as
 * refusing us: anybody can have a few domains there whose settings refuse us, and must not close it
 * for all.
 */
const CUSTOMERS_TO_OPEN = 20

/** For how long it opens: doubled each time, up to the longest. */
const OPEN_FIRST_MS = 15 * 60_000
const OPEN_LONGEST_MS = 6 * 3_600_000
const REFRESH_MS = 30_000

/** A circuit breaker stored under one key of the shared memory. */
export function createCircuitBreaker(
  key: string,
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): CircuitBreaker {
  let current: PoolState<'circuit'> = 'closed'
  let refusals = 0
  const customers = new Set<string>()
  /** How often the breaker was opened since it was last closed. */
  let times = 0
  let untilMs = 0
  let readMs = Number.NEGATIVE_INFINITY
  const enter = (to: PoolState<'circuit'>): void => {
    current = transition('circuit', current, to)
  }
  const isPause = (endMs: number): boolean => pauseLeftMs(endMs, now(), OPEN_LONGEST_MS) > 0
  const state = (): PoolState<'circuit'> => {
    if (current === 'open' && !isPause(untilMs)) enter('half_open')
    return current
  }
  const open = (): void => {
    const lastMs = Math.min(OPEN_LONGEST_MS, OPEN_FIRST_MS * 2 ** times)
    enter('open')
    times++
    refusals = 0
    customers.clear()
    untilMs = now() + lastMs
    // Stored beyond its end, so that the next pause is longer.
    memory.set([{ key, value: { untilMs, times }, ttlMs: lastMs * 3 }]).catch(warn)
  }
  return {
    state,
    openMs: () => (state() === 'open' ? untilMs - now() : 0),
    refused(customer) {
      if (customer === null) refusals++
      else customers.add(customer)
      const isTrial = customer === null && state() === 'half_open'
      if (refusals >= REFUSALS_TO_OPEN || customers.size >= CUSTOMERS_TO_OPEN || isTrial) open()
    },
    accepted() {
      refusals = 0
      customers.clear()
      if (state() === 'closed') return
      enter('closed')
      times = 0
      untilMs = 0
      memory.delete([key]).catch(warn)
    },
    async refresh() {
      if (Math.abs(now() - readMs) < REFRESH_MS) return
      readMs = now()
      try {
        const [value] = await memory.get([key])
        if (typeof value !== 'object' || value === null || !('untilMs' in value)) return
        const { untilMs: endMs, times: opened } = value
        if (typeof endMs === 'number' && isPause(endMs) && !(isPause(untilMs) && endMs < untilMs))
          untilMs = endMs
        if (typeof opened === 'number') times = Math.max(times, opened)
        if (isPause(untilMs)) enter('open')
        else if (times > 0 && state() === 'closed') enter('half_open')
      } catch (error) {
        warn(error)
      }
    },
  }
}
