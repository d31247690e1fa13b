/** Whether a server knows the root of the DNS; `silent`: it gave no usable reply. */
export type RootWord = 'knows' | 'denies' | 'silent'

/** Watches whether one server can vouch for the root of the DNS. */
export interface RootWatch {
  /**
   * Whether what the server denies can be believed: it knew the root within the last minute. Asks again
   * where that is longer ago; callers at the same time share one question. Never throws.
   */
  vouches(): Promise<boolean>
}

/** What a watch needs. */
export interface RootWatchOptions {
  /** Asks the server for the root; bounded, never throws. */
  readonly ask: () => Promise<RootWord>
  /** Milliseconds, monotonic. */
  readonly now: () => number
  /** Told when the server begins to vouch, or no longer does; not of its first reply. */
  readonly changed?: (vouches: boolean) => void
}

/** How long a reply about the root holds. */
const WORD_MS = 60_000

/** How long no reply holds: a lost packet proves nothing. Source: RFC 9520 3.2 allows one second to five minutes. */
const SILENCE_MS = 5_000

/**
 * Makes a watch. A resolver of a closed network denies the root, and with it every public name that it
 * was never told of. Silence changes nothing: who never knew the root does not vouch for it.
 */
export function createRootWatch(options: RootWatchOptions): RootWatch {
  let vouched: boolean | null = null
  let untilMs = -Infinity
  let asking: Promise<void> | null = null

  const ask = async (): Promise<void> => {
    const word = await options.ask()
    untilMs = options.now() + (word === 'silent' ? SILENCE_MS : WORD_MS)
    if (word === 'silent') return
    const vouches = word === 'knows'
    if (vouched !== null && vouched !== vouches) options.changed?.(vouches)
    vouched = vouches
  }

  return {
    async vouches() {
      if (options.now() >= untilMs) {
        asking ??= ask().finally(() => (asking = null))
        await asking
      }
      return vouched === true
    },
  }
}
