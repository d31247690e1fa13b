/** Items that wait for places, by account; those of each account are served in order of arrival. */
export interface AccountTurns<Item> {
  /** Accounts with waiting items. */
  accounts(): Iterable<string>
  /** Adds an item; no effect while the account's same item waits. */
  add(account: string, item: Item): void
  /**
   * Removes the next item; null if none waits. The account that holds the fewest places is served,
   * and of several such the one that was served longest ago.
   */
  next(held: ReadonlyMap<string, number>): { readonly account: string; readonly item: Item } | null
  readonly isEmpty: boolean
}

/** Makes turns without items. */
export function createAccountTurns<Item>(): AccountTurns<Item> {
  /** The longest unserved first. */
  const waiting = new Map<string, Set<Item>>()
  return {
    accounts: () => waiting.keys(),
    add(account, item) {
      const items = waiting.get(account)
      if (items === undefined) waiting.set(account, new Set([item]))
      else items.add(item)
    },
    next(held) {
      let fewest = Number.POSITIVE_INFINITY
      let account = ''
      for (const other of waiting.keys()) {
        const count = held.get(other) ?? 0
        if (count < fewest) [fewest, account] = [count, other]
      }
      const items = waiting.get(account) ?? new Set()
      waiting.delete(account)
      for (const item of items) {
        items.delete(item)
        if (items.size > 0) waiting.set(account, items)
        return { account, item }
      }
      return null
    },
    get isEmpty() {
      return waiting.size === 0
    },
  }
}
