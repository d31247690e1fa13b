/**
 * Start-time fair queueing over accounts: what an account waits for has the turn after the last one
 * of that account, or the current one; the lowest turn is served first.
 */
export interface FairTurns {
  /** The last turn of each account; the owner clears it once nobody waits. */
  readonly last: Map<string, number>
  current: number
}

/** The turn that an account would have next. */
export function nextTurn({ current, last }: FairTurns, account: string): number {
  return Math.max(current, (last.get(account) ?? 0) + 1)
}
