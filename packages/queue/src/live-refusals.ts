import { Problem } from '@plumbline/contract/problem'

/** Accounts that workers have recently refused: their next calls are refused without a debit. */
export interface HeldBackAccounts {
  /** Records that a worker has refused the account. */
  add(account: string): void
  has(account: string): boolean
}

/**
 * `Retry-After` of a refused account, in milliseconds; until then it is refused without asking a
 * worker.
 */
const HELD_BACK_MS = 1_000

/** Maximum number of stored accounts. */
const MAX_ACCOUNTS = 50_000

/** Stores refused accounts until their `Retry-After` has passed. */
export function createHeldBackAccounts(
  now: () => number = () => performance.now(),
): HeldBackAccounts {
  /** End of each refusal, the earliest first. */
  const untilMs = new Map<string, number>()
  return {
    add(account) {
      untilMs.delete(account)
      untilMs.set(account, now() + HELD_BACK_MS)
      for (const [oldest, endMs] of untilMs) {
        if (endMs > now() && untilMs.size <= MAX_ACCOUNTS) break
        untilMs.delete(oldest)
      }
    },
    has: (account) => (untilMs.get(account) ?? 0) > now(),
  }
}

/** The refusal of an account that has used its share of slow subjects. */
export function slowShareUsed(): Problem {
  return new Problem(
    'too_many_requests',
    'Too many calls of this account wait for others that do not answer; nothing was charged. Try again after the seconds of Retry-After.',
    { limit: 'slow_share', retryAfterSeconds: HELD_BACK_MS / 1_000 },
  )
}

/**
 * The refusal of a call about a server that does not reply: too many calls wait for it, or of all
 * accounts for such servers.
 */
export function serverShareUsed(): Problem {
  return new Problem(
    'too_many_requests',
    'Too many calls wait for servers that do not answer, as that of this one; nothing was charged. Try again after the seconds of Retry-After.',
    { limit: 'slow_share', retryAfterSeconds: HELD_BACK_MS / 1_000 },
  )
}

/** The refusal of a call for which no worker has capacity. */
export function atLimit(): Problem {
  return new Problem(
    'unavailable',
    'The service is at its limit and nothing was charged; try again in a second.',
    {
      limit: 'workers',
      retryAfterSeconds: 1,
    },
  )
}

/** The refusal while the queue's server does not reply. */
export function queueAway(): Problem {
  return new Problem(
    'unavailable',
    'The service cannot answer at the moment and nothing was charged; try again shortly.',
    { limit: 'queue_away', retryAfterSeconds: 2 },
  )
}
