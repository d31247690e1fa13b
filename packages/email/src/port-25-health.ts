import type { EngineHealth } from '@plumbline/ports/engine'
import type { SelfTest } from './self-test.ts'

/** Whether this machine can open connections to port 25 at all. */
export interface Port25Health {
  /** Whether no mail host can be reached: then an unreachable host says nothing about itself. */
  isBlocked(): boolean
  /**
   * Whether no host can be reached at the moment: several in a row could not, nor any large
   * provider. False if it was never tested.
   */
  isSilent(): Promise<boolean>
  /** Counts a host that could, or could not, be connected to. */
  reached(ok: boolean): void
  /** The results of the last self-test; waits for one that is running. */
  health(): Promise<readonly EngineHealth[]>
  close(): void
}

/** Milliseconds for which the results of a self-test, and a successful connection, are valid. */
const HOUR_MS = 3_600_000

/** Consecutive unreachable hosts after which a self-test is run, and the interval of such tests. */
const SUSPICIOUS_FAILURES = 5
const SUSPICION_MS = 30_000

/**
 * Monitors port 25. It is blocked if the self-test reached none of the large providers and no
 * connection succeeded for an hour, while at least one failed. `test` null: never tested, never
 * blocked.
 */
export function createPort25Health(
  test: (() => Promise<SelfTest>) | null,
  now: () => number,
): Port25Health {
  let last: { readonly test: Promise<SelfTest>; readonly atMs: number } | null = null
  let isOpen: boolean | null = null
  let lastReachedMs = Number.NEGATIVE_INFINITY
  let failures = 0
  const latest = (run: () => Promise<SelfTest>, oldestMs = HOUR_MS): Promise<SelfTest> => {
    if (last !== null && now() - last.atMs < oldestMs) return last.test
    const running = run().then((result) => {
      isOpen = result.portOpen
      return result
    })
    last = { test: running, atMs: now() }
    return running
  }
  const refresh = (): void => {
    // If the test fails, the last result stays.
    if (test !== null) latest(test).catch(() => undefined)
  }
  const timer = test === null ? null : setInterval(refresh, HOUR_MS).unref()
  refresh()
  return {
    isBlocked: () => isOpen === false && failures > 0 && now() - lastReachedMs > HOUR_MS,
    async isSilent() {
      if (test === null || failures < SUSPICIOUS_FAILURES) return false
      const { portOpen } = await latest(test, SUSPICION_MS).catch(() => ({ portOpen: null }))
      return portOpen === false && failures > 0
    },
    reached(ok) {
      if (ok) {
        lastReachedMs = now()
        failures = 0
      } else failures++
    },
    async health() {
      return test === null ? [] : (await latest(test)).health
    },
    close() {
      if (timer !== null) clearInterval(timer)
    },
  }
}
