/** Money that may be spent in a UTC day, counted over all workers and durable across crashes. */
export interface Budget {
  /** Takes `count` from the rest of `mostPerDay` today, or all of the rest if that is less. */
  take(name: string, count: number, mostPerDay: number): Promise<BudgetGrant>
}

/** Amount that a budget granted; `giveBack` returns unspent money. */
export interface BudgetGrant {
  readonly count: number
  giveBack(count: number): Promise<void>
}
