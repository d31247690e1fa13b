/** One operation of an account; its key takes effect once. */
export interface Operation {
  readonly accountId: string
  /** 1 to 200 characters, chosen by the caller and never used for another operation. */
  readonly opKey: string
}

/** @throws RangeError if a key is empty, too long or holds a NUL, which Postgres cannot store */
export function assertKey(name: string, key: string): void {
  if (key.length >= 1 && key.length <= 200 && !key.includes('\0')) return
  throw new RangeError(`${name} has 1 to 200 characters without NUL, not ${JSON.stringify(key)}`)
}

/** @throws RangeError if credits are not a whole number of at least `least` */
export function assertCredits(credits: number, least: 0 | 1): void {
  if (Number.isSafeInteger(credits) && credits >= least) return
  throw new RangeError(`credits are a whole number of at least ${least}, not ${credits}`)
}

/**
 * Indexes of requests whose key occurs earlier in the same batch: they go into the next batch, as
 * repeats.
 */
export function repeatsIn(asks: readonly Operation[]): ReadonlySet<number> {
  const seen = new Set<string>()
  const repeats = new Set<number>()
  for (const [index, ask] of asks.entries()) {
    const key = `${ask.accountId}\0${ask.opKey}`
    if (seen.has(key)) repeats.add(index)
    seen.add(key)
  }
  return repeats
}
