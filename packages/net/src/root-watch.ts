/** The reply of a server for the root of the DNS; `silent`: no usable one. */
export type RootReply = 'knows' | 'denies' | 'silent'

/** Monitors whether one server knows the DNS root. */
export interface RootWatch {
  /**
   * Whether negative replies of the server can be believed: it knew the root within the last
   * minute. Queries the root again if that is longer ago; concurrent callers share one query. Never
   * throws.
   */
  knowsRoot(): Promise<boolean>
}

/** Options of `createRootWatch`. */
export interface RootWatchOptions {
  /** Queries the server for the root; has a time-out, never throws. */
  readonly ask: () => Promise<RootReply>
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** Called when the server begins to know the root, or no longer does; not for its first reply. */
  readonly changed?: (knowsRoot: boolean) => void
}

/** Milliseconds for which a reply about the root is valid. */
const REPLY_MS = 60_000

/**
 * Milliseconds for which a missing reply is valid: a lost packet proves nothing. Source: RFC 9520
 * 3.2 allows one second to five minutes.
 */
const SILENCE_MS = 5_000

/**
 * Creates a monitor. The resolver of a closed network denies the root, and with it every public
 * name that it was not configured with. A missing reply changes nothing: a server that never knew
 * the root is not believed.
 */
export function createRootWatch(options: RootWatchOptions): RootWatch {
  let known: boolean | null = null
  let untilMs = -Infinity
  let asking: Promise<void> | null = null

  const ask = async (): Promise<void> => {
    const word = await options.ask()
    untilMs = options.now() + (word === 'silent' ? SILENCE_MS : REPLY_MS)
    if (word === 'silent') return
    const knowsRoot = word === 'knows'
    if (known !== null && known !== knowsRoot) options.changed?.(knowsRoot)
    known = knowsRoot
  }

  return {
    async knowsRoot() {
      if (options.now() >= untilMs) {
        asking ??= ask().finally(() => (asking = null))
        await asking
      }
      return known === true
    },
  }
}
