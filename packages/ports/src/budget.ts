/** Money that may be spent in a UTC day, counted over all workers and through crashes of any server. */
export interface Budget {
  /** Takes `count` of what is left of `mostPerDay` today, or all that is left where that is less. */
  take(name: string, count: number, mostPerDay: number): Promise<Spending>
}

/** What a budget let through; `giveBack` is for what was not spent after all. */
export interface Spending {
  readonly count: number
  giveBack(count: number): Promise<void>
}
