/** What accounts can spend, as this process last heard. */
export interface BalanceCache {
  /** What a move of credits just told. */
  note(accountId: string, available: number): void
  /**
   * A balance that may be up to a second old where it is above zero, and is never old where it is zero:
   * good enough to refuse an empty account early, while the debit itself decides.
   */
  recent(accountId: string): Promise<number> | number
  /** A balance that may be up to a second old. */
  shown(accountId: string): Promise<number> | number
  /** The balance of this moment. */
  now(accountId: string): Promise<number>
}

/** How old a balance above zero may be. */
const RECENT_MS = 1_000

/** BalanceCache known at most. */
const KNOWN_MAX = 50_000

/** Keeps what debits tell about balances; `read` asks the ledger. */
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
    // Zero counts as not known: who has just topped up must not be refused.
    recent: (accountId) => held(accountId) || fresh(accountId),
  }
}
