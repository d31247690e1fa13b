/**
 * The states of the connection pool and their transitions, drawn in `README.md`; any other is a bug
 * and throws. A group whose circuit another worker opened moves from `closed` to `open`, or to
 * `half_open` where that pause is over, when the shared memory is read; a refusal while it is open
 * restarts the pause.
 */
export const POOL_TRANSITIONS = {
  connection: {
    starting: ['busy', 'closing'],
    busy: ['idle', 'closing'],
    idle: ['busy', 'closing'],
    closing: ['closed'],
    closed: [],
  },
  rate: { ready: ['held'], held: ['ready'] },
  circuit: {
    closed: ['open', 'half_open'],
    open: ['open', 'half_open', 'closed'],
    half_open: ['open', 'closed'],
  },
} as const

/** The part of the pool that has a state of its own. */
export type PoolPart = keyof typeof POOL_TRANSITIONS

/** The states of one part. */
export type PoolState<P extends PoolPart> = keyof (typeof POOL_TRANSITIONS)[P] & string

/** The state after a transition. Throws on one that the table does not have. */
export function transition<P extends PoolPart>(
  part: P,
  from: PoolState<P>,
  to: PoolState<P>,
): PoolState<P> {
  const table: Readonly<Record<string, readonly string[]>> = POOL_TRANSITIONS[part]
  if (table[from]?.includes(to) !== true) {
    throw new Error(`${part}: expected a listed transition, got ${from} to ${to}`)
  }
  return to
}
