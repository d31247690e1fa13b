/** Connections that are opened for bulk probes, without a reply of their hosts so far. */
export interface SlowOpenings {
  /** Records one until it is disposed; `displace` ends it. */
  begin(account: string, displace: () => void): Opening
  /**
   * Displaces slow ones beyond the limit if other accounts wait: of the account with the most, the
   * newest first, since it has waited least.
   */
  displace(waitingAccounts: Iterable<string>): void
}

/** One connection that is being opened. */
export interface Opening extends Disposable {
  /** Records a reply of the host. */
  heard(): void
}

/** Limits of slow openings. */
export interface SlowOpeningLimits {
  /** Milliseconds without a reply after which one is slow. */
  readonly slowMs: number
  /** Slow ones of all accounts that are kept while another account waits. */
  readonly slowMax: number
}

interface Entry {
  readonly account: string
  readonly displace: () => void
  heardAtMs: number
}

/** Makes the record of one pool. */
export function createSlowOpenings(limits: SlowOpeningLimits, now: () => number): SlowOpenings {
  /** The oldest first. */
  const entries = new Set<Entry>()
  return {
    begin(account, displace) {
      const entry: Entry = { account, displace, heardAtMs: now() }
      entries.add(entry)
      return {
        heard: () => (entry.heardAtMs = now()),
        [Symbol.dispose]: () => entries.delete(entry),
      }
    },
    displace(waitingAccounts) {
      const waiting = [...waitingAccounts]
      const slow = [...entries].filter(({ heardAtMs }) => now() - heardAtMs >= limits.slowMs)
      const byAccount = Map.groupBy(slow, ({ account }) => account)
      for (let count = slow.length; count > limits.slowMax; count--) {
        const [account, most] = largest(byAccount)
        if (!waiting.some((other) => other !== account)) return
        const newest = most.pop()
        if (newest === undefined) return
        entries.delete(newest)
        newest.displace()
      }
    },
  }
}

function largest(byAccount: ReadonlyMap<string, Entry[]>): readonly [string, Entry[]] {
  let found: readonly [string, Entry[]] = ['', []]
  for (const each of byAccount) if (each[1].length > found[1].length) found = each
  return found
}
