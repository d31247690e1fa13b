/** Limits shared by all workers. */
export interface Limiter {
  /**
   * Takes `count` from a bucket that refills `perSecond` up to `burst`; all or nothing.
   * In any window of t seconds at most `burst + t * perSecond` is granted.
   */
  take(key: string, count: number, rate: { perSecond: number; burst: number }): Promise<Grant>
  /** Takes one of `limit` leases, until released or `ttlMs` has passed. */
  lease(key: string, limit: number, ttlMs: number): Promise<Lease>
}

/** `remaining`: whole units left after this. */
export type Grant =
  | { readonly granted: true; readonly remaining?: number }
  | { readonly granted: false; readonly retryMs: number; readonly remaining?: number }

/** A granted lease, or when to try again. */
export type Lease =
  | {
      readonly granted: true
      /** Extends the lease by its time to live; false if it was lost. */
      renew(): Promise<boolean>
      release(): Promise<void>
    }
  | { readonly granted: false; readonly retryMs: number }

/**
 * Checks the arguments of `Limiter.take`.
 *
 * @throws on a count that could never be granted, and on invalid rates
 */
export function checkTake(
  count: number,
  { perSecond, burst }: Parameters<Limiter['take']>[2],
): void {
  if (!(count > 0 && count <= burst)) {
    throw new RangeError(`a take must be above 0 and at most the burst of ${burst}, got ${count}`)
  }
  if (!(perSecond > 0 && Number.isFinite(perSecond))) {
    throw new RangeError(`a rate must be above 0 a second, got ${perSecond}`)
  }
}

/**
 * Checks the arguments of `Limiter.lease`.
 *
 * @throws on an invalid limit or lifetime
 */
export function checkLease(limit: number, ttlMs: number): void {
  if (!(Number.isInteger(limit) && limit > 0)) {
    throw new RangeError(`a lease needs a whole limit above 0, got ${limit}`)
  }
  checkLifetime(ttlMs)
}

/**
 * Checks the lifetime of a memory entry or lease.
 *
 * @throws unless it is above zero milliseconds
 */
export function checkLifetime(ttlMs: number): void {
  if (!(Number.isFinite(ttlMs) && ttlMs > 0)) {
    throw new RangeError(`a lifetime must be above 0 milliseconds, got ${ttlMs}`)
  }
}

/** Builds a grant from the reply of a store. */
export function grantOf(granted: boolean, retryMs: number, remaining: number): Grant {
  return granted ? { granted, remaining } : { granted, retryMs, remaining }
}

/**
 * Milliseconds until a refused lease is requested again: a second at most, since a lease may be
 * released long before it expires.
 */
export function leaseRetryMs(untilFirstExpiryMs: number): number {
  return Math.min(Math.max(1, Math.ceil(untilFirstExpiryMs)), 1_000)
}
