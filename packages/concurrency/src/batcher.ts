/**
 * Adds an item to a shared run and resolves with that item's own result; rejects if the run throws.
 */
export type Batcher<Item, Result> = (item: Item) => Promise<Result>

/**
 * Collects items that arrive while a run is under way into the next run; the first run starts at
 * the end of the current microtasks. `run` returns results in the order of its items; if it throws,
 * all of them reject. `maxItems` bounds a run, `maxRuns` (default 1) the number of concurrent runs.
 * `delayMs` is how long to wait for more items after a run; default 0, no wait.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  {
    maxItems,
    maxRuns = 1,
    delayMs = () => 0,
  }: { maxItems: number; maxRuns?: number; delayMs?: () => number },
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = []
  let runs = 0
  let scheduled = false

  function next(): void {
    scheduled = false
    while (waiting.length > 0 && runs < maxRuns) {
      const mine = waiting.slice(0, maxItems)
      waiting = waiting.slice(maxItems)
      runs += 1
      void settle(run, mine).finally(rest)
    }
  }

  function rest(): void {
    const pauseMs = delayMs()
    if (pauseMs > 0) setTimeout(release, pauseMs)
    else release()
  }

  function release(): void {
    runs -= 1
    schedule()
  }

  function schedule(): void {
    if (scheduled || waiting.length === 0 || runs >= maxRuns) return
    scheduled = true
    queueMicrotask(next)
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push({ item, resolve, reject })
    schedule()
    return promise
  }
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

async function settle<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  waiting: readonly Waiting<Item, Result>[],
): Promise<void> {
  try {
    const results = await run(waiting.map(({ item }) => item))
    if (results.length !== waiting.length) {
      throw new Error(`a run of ${waiting.length} items returned ${results.length}`)
    }

    results.forEach((result, index) => waiting[index]?.resolve(result))
  } catch (error) {
    for (const { reject } of waiting) reject(error)
  }
}
