import { setTimeout as delay } from 'node:timers/promises'
import { CONTENTION_STATES, isOutageState } from './sqlstate.ts'

/** Waits between tries: 5 tries within about a second and a half. */
const WAITS_MS = [20, 80, 300, 1_000] as const

/**
 * Runs a statement again when the connection broke or the server chose it as the loser, for
 * statements that take effect once however often they run: the reply to a commit may be lost.
 */
export async function retryStatement<T>(run: () => Promise<T>): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await run()
    } catch (error) {
      if (!isPassing(error)) throw error
      await delay(waitMs)
    }
  }
  return run()
}

const PASSING_SYSTEM = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'])

/**
 * The driver's own words for a connection that broke, before or while something was asked on it; they have no
 * code. Source: pg 8.23, lib/client.js, and pg-pool 3.
 */
const PASSING_MESSAGE =
  /connection (?:terminated|timeout)|timeout exceeded|read timeout|is not queryable/i

/** Whether an error is of the connection or the moment, not of what was asked. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === '') return PASSING_MESSAGE.test(error.message)
  return PASSING_SYSTEM.has(code) || isOutageState(code) || CONTENTION_STATES.includes(code)
}
