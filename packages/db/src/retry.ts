import { setTimeout as delay } from 'node:timers/promises'
import type { Db, Tx } from './database.ts'
import { CONTENTION_STATES, isOutageState } from './sqlstate.ts'

/** Milliseconds between attempts: 5 attempts within about a second and a half. */
const WAITS_MS = [20, 80, 300, 1_000] as const
const LONGEST_WAIT_MS = 1_000

/**
 * Milliseconds that a statement is retried if it must outlast a failover, which takes half a
 * minute.
 */
export const FAILOVER_MS = 45_000

/** A monotonic clock that can wait. */
export interface RetryClock {
  nowMs(): number
  wait(ms: number): Promise<void>
}

const CLOCK: RetryClock = { nowMs: () => performance.now(), wait: (ms) => delay(ms) }

/**
 * Runs a statement again if the connection broke or the server aborted it because of a deadlock or
 * serialization failure. Only for idempotent statements: the reply to a commit may be lost.
 *
 * @param options `forMs`: minimum milliseconds for which the statement is retried, once a second
 */
export async function retryStatement<T>(
  run: () => Promise<T>,
  { forMs = 0, clock = CLOCK }: { readonly forMs?: number; readonly clock?: RetryClock } = {},
): Promise<T> {
  const endMs = clock.nowMs() + forMs
  for (let tries = 0; ; tries++) {
    try {
      return await run()
    } catch (error) {
      const isLast = tries >= WAITS_MS.length && clock.nowMs() >= endMs
      if (isLast || !isTemporary(error)) throw error
      await clock.wait(WAITS_MS[tries] ?? LONGEST_WAIT_MS)
    }
  }
}

/** Runs idempotent work in one transaction, and retries it as a statement is retried. */
export async function inRetriedTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await retryStatement(() => db.kysely.transaction().execute(work))
}

/**
 * System codes of a connection that broke or could not be opened. While a container of the server is
 * started again its name is not known, and while its machine is replaced its address has no route.
 */
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
])

/** Whether a system code means that a connection broke or could not be opened. */
export function isConnectionCode(code: string): boolean {
  return CONNECTION_CODES.has(code)
}

/**
 * The driver's messages for a connection that broke before or during a statement; they have no
 * code. Source: pg 8.23, lib/client.js, and pg-pool 3.
 */
const TEMPORARY_MESSAGE =
  /connection (?:terminated|timeout)|timeout exceeded|read timeout|is not queryable/i

/**
 * Whether an error is temporary: caused by the connection or contention, not by the statement
 * itself.
 */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === '') return TEMPORARY_MESSAGE.test(error.message)
  return isConnectionCode(code) || isOutageState(code) || CONTENTION_STATES.includes(code)
}
