/** One operation of an account, which takes effect once for its key. */
export interface Operation {
  readonly accountId: string
  /** 1 to 200 characters, chosen by the caller and never used for another operation. */
  readonly opKey: string
}

/**
 * Checks an operation's key or the name of a source or hold.
 *
 * @throws RangeError if it is empty, too long or contains a NUL, which Postgres cannot store
 */
export function assertKey(name: string, key: string): void {
  if (key.length >= 1 && key.length <= 200 && !key.includes('\0')) return
  throw new RangeError(`${name} has 1 to 200 characters without NUL, not ${JSON.stringify(key)}`)
}

/**
 * Checks a number of credits.
 *
 * @throws RangeError if it is not a whole number of at least `least`
 */
export function assertCredits(credits: number, least: 0 | 1): void {
  if (Number.isSafeInteger(credits) && credits >= least) return
  throw new RangeError(`credits are a whole number of at least ${least}, not ${credits}`)
}

/**
 * Indexes of requests whose key occurs earlier in the same batch: these repeats go into the next
 * batch.
 */
export function repeatsIn(requests: readonly Operation[]): ReadonlySet<number> {
  const seen = new Set<string>()
  const repeats = new Set<number>()
  for (const [index, request] of requests.entries()) {
    const key = `${request.accountId}\0${request.opKey}`
    if (seen.has(key)) repeats.add(index)
    seen.add(key)
  }
  return repeats
}
