/** Balances of accounts, as this process last read them. */
export interface BalanceCache {
  /** Records the balance that a debit or refund has just returned. */
  note(accountId: string, available: number): void
  /**
   * A balance that may be up to a second old if it is above zero; zero is always read again. Used
   * to refuse an account without credits early; the debit itself decides.
   */
  recent(accountId: string): Promise<number> | number
  /** A balance that may be up to a second old. */
  shown(accountId: string): Promise<number> | number
  /** The current balance, from the ledger. */
  now(accountId: string): Promise<number>
}

/** Maximum age in milliseconds of a balance above zero. */
const RECENT_MS = 1_000

/** Cached balances at most. */
const KNOWN_MAX = 50_000

/** Makes the cache; `read` reads a balance from the ledger. */
export function createBalanceCache(
  read: (accountId: string) => Promise<number>,
  now: () => number = () => performance.now(),
): BalanceCache {
  let known = new Map<string, { available: number; at: number }>()

  function note(accountId: string, available: number): void {
    if (known.size >= KNOWN_MAX) known = new Map()
    known.set(accountId, { available, at: now() })
  }

  async function fresh(accountId: string): Promise<number> {
    const available = await read(accountId)
    note(accountId, available)
    return available
  }

  function held(accountId: string): number | undefined {
    const entry = known.get(accountId)
    return entry !== undefined && now() - entry.at < RECENT_MS ? entry.available : undefined
  }

  return {
    note,
    now: fresh,
    shown: (accountId) => held(accountId) ?? fresh(accountId),
    // Zero counts as not cached: an account that has just been topped up must not be refused.
    recent: (accountId) => held(accountId) || fresh(accountId),
  }
}
