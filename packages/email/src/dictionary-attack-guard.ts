import { pauseLeftMs } from '@plumbline/concurrency/pause'
import type { Memory } from '@plumbline/ports/memory'
import { holdNewest } from './hold-newest.ts'

/** Detects an account that guesses mailbox names at a domain (a dictionary attack). */
export interface DictionaryAttackGuard {
  /** The counts of an account at a domain. */
  pair(account: string, domain: string): Pair
  /** Whether the account may not probe the domain now. */
  stops(pair: Pair): boolean | Promise<boolean>
  /** Counts the result of one recipient. */
  note(pair: Pair, isMissing: boolean): void
}

/** An account and a domain, with the recipients counted and the start of the count. */
export interface Pair {
  /** Key of its entry in the shared memory. */
  readonly key: string
  asked: number
  missing: number
  sinceMs: number
  stoppedUntilMs: number
  /** The read of the shared memory in flight, which concurrent callers share. */
  read: Promise<boolean> | null
  readMs: number
}

/** Pairs of account and domain that are counted; a count starts over after an hour. */
const PAIRS_MAX = 10_000
const COUNT_MS = 3_600_000
const STOP_MS = 3_600_000
const READ_MS = 30_000

/**
 * Makes the guard. Once an account has probed `asked` recipients of a domain and more than `share`
 * of them are missing, it is stopped at that domain for an hour, in every worker. An old batch of
 * real addresses stays below the share.
 */
export function createDictionaryAttackGuard(
  limits: { readonly dictionaryAsked: number; readonly dictionaryShare: number },
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): DictionaryAttackGuard {
  const pairs = new Map<string, Pair>()
  const isStopped = (pair: Pair): boolean => pauseLeftMs(pair.stoppedUntilMs, now(), STOP_MS) > 0
  const renewed = (pair: Pair): void => {
    if (Math.abs(now() - pair.sinceMs) <= COUNT_MS) return
    pair.asked = 0
    pair.missing = 0
    pair.sinceMs = now()
  }
  const read = async (pair: Pair): Promise<boolean> => {
    try {
      const [until] = await memory.get([pair.key])
      if (typeof until === 'number') pair.stoppedUntilMs = until
    } catch (error) {
      warn(error)
    }
    pair.readMs = now()
    return isStopped(pair)
  }
  return {
    pair(account, domain) {
      const name = `${account} ${domain}`
      let pair = pairs.get(name)
      if (pair === undefined) {
        pair = {
          key: keyOf(account, domain),
          asked: 0,
          missing: 0,
          sinceMs: now(),
          stoppedUntilMs: 0,
          read: null,
          readMs: Number.NEGATIVE_INFINITY,
        }
        holdNewest(pairs, name, pair, PAIRS_MAX)
      }
      return pair
    },
    stops(pair) {
      if (isStopped(pair)) return true
      // Most subjects are answered here, without a promise for each.
      if (Math.abs(now() - pair.readMs) < READ_MS) return false
      pair.read ??= read(pair).finally(() => (pair.read = null))
      return pair.read
    },
    note(pair, isMissing) {
      renewed(pair)
      pair.asked++
      if (isMissing) pair.missing++
      if (pair.asked < limits.dictionaryAsked || isStopped(pair)) return
      if (pair.missing / pair.asked <= limits.dictionaryShare) return
      pair.stoppedUntilMs = now() + STOP_MS
      pair.asked = 0
      pair.missing = 0
      const { key, stoppedUntilMs } = pair
      memory.set([{ key, value: stoppedUntilMs, ttlMs: STOP_MS }]).catch(warn)
    },
  }
}

function keyOf(account: string, domain: string): string {
  return `email:dictionary:${account} ${domain}`
}
