import { RETRY } from './group-commit.ts'

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
 * Runs the operations of a batch without those whose key occurs earlier in it: these repeats go into
 * the next batch.
 */
export async function runWithoutRepeats<Request extends Operation, Result>(
  requests: readonly Request[],
  run: (distinct: readonly Request[]) => Promise<readonly Result[]>,
): Promise<readonly (Result | typeof RETRY)[]> {
  const seen = new Set<string>()
  const isFirst = requests.map(({ accountId, opKey }) => {
    const countBefore = seen.size
    return seen.add(`${accountId}\0${opKey}`).size > countBefore
  })
  const distinct = requests.filter((_, index) => isFirst[index])
  const results = await run(distinct)
  if (results.length !== distinct.length) {
    throw new Error(`a batch returned ${results.length} results of ${distinct.length}`)
  }
  let next = 0
  return isFirst.map((first) => (first ? (results[next++] ?? RETRY) : RETRY))
}
