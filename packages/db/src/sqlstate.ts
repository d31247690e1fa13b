/** The SQLSTATE codes that the service distinguishes. Source: PostgreSQL manual, appendix A. */
export const SQLSTATE = {
  invalidParameter: '22023',
  uniqueViolation: '23505',
  readOnlyTransaction: '25006',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  duplicateObject: '42710',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
} as const

/** Codes of statements that the server aborted because of another one; a retry may succeed. */
export const CONTENTION_STATES: readonly string[] = [
  SQLSTATE.serializationFailure,
  SQLSTATE.deadlockDetected,
  SQLSTATE.lockNotAvailable,
]

/**
 * Class 08 (connection), class 53 (resources), shutdown, crash, starting up, a session that was ended
 * as its process stood still within a transaction, and a write to a standby: one that is not promoted
 * yet, or was the primary before.
 */
const OUTAGE = /^(08...|53...|57P0[1-3]|25P03|25006)$/

/** Whether a code means that the server cannot be reached or cannot work, or ended the session. */
export function isOutageState(code: string): boolean {
  return OUTAGE.test(code)
}

/** Whether an error is a server error with one of these codes. */
export function hasState(error: unknown, ...states: readonly string[]): boolean {
  if (!(error instanceof Error && 'code' in error)) return false
  return typeof error.code === 'string' && states.includes(error.code)
}
