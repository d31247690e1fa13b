import { setTimeout as wait } from 'node:timers/promises'
import { isPassing } from '@plumbline/db/retry'

/**
 * Runs requests that wait at the same moment in one statement with one commit, and answers each
 * individually.
 */
export interface GroupCommit<Ask, Answer> extends AsyncDisposable {
  /** Resolves when the batch that holds the request is committed. */
  ask(ask: Ask): Promise<Answer>
}

/** Result for a request that must go into another batch, before those that arrived after it. */
export const RETRY = Symbol('retry')

/** Options of a group commit. */
export interface GroupCommitOptions<Ask, Answer> {
  /** Maximum number of requests in a batch. */
  readonly maxItems: number
  /** Maximum number of batches in flight. */
  readonly maxRuns: number
  /**
   * Milliseconds to wait for more requests after a batch; default 0. For requests without a waiting
   * caller.
   */
  readonly restMs?: number
  /** Requests with the same key are never in two batches at once, so they keep their order. */
  readonly orderKeyOf: (ask: Ask) => string
  /**
   * Executes a batch and returns results in its order; each request must take effect once, however
   * often it is run.
   */
  readonly run: (asks: readonly Ask[]) => Promise<readonly (Answer | typeof RETRY)[]>
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask
  readonly settle: (answer: Answer) => void
  readonly fail: (cause: unknown) => void
}

/**
 * Commits the requests that arrive while batches are in flight as the next batch, in order of
 * arrival within each key. A lone request is run at once. If a batch fails because of its content,
 * each of its requests is tried alone, so that an invalid one does not fail the others; if the
 * database is down, all of them fail.
 */
export function openGroupCommit<Ask, Answer>(
  options: GroupCommitOptions<Ask, Answer>,
): GroupCommit<Ask, Answer> {
  const { restMs = 0 } = options
  const closing = new AbortController()
  let waiting: Waiting<Ask, Answer>[] = []
  const inFlight = new Set<Promise<void>>()
  const busyKeys = new Set<string>()
  let scheduled = false

  function flush(): void {
    while (inFlight.size < options.maxRuns && waiting.length > 0) {
      const batch = takeBatch()
      if (batch.length === 0) return
      const run = runBatch(batch).finally(() => {
        inFlight.delete(run)
        flush()
      })
      inFlight.add(run)
    }
  }

  /** Takes requests whose key is free, and reserves their keys until the batch is committed. */
  function takeBatch(): readonly Waiting<Ask, Answer>[] {
    const batch: Waiting<Ask, Answer>[] = []
    const left: Waiting<Ask, Answer>[] = []
    for (const one of waiting) {
      const fits = batch.length < options.maxItems && !busyKeys.has(options.orderKeyOf(one.ask))
      ;(fits ? batch : left).push(one)
    }
    waiting = left
    for (const one of batch) busyKeys.add(options.orderKeyOf(one.ask))
    return batch
  }

  async function runBatch(batch: readonly Waiting<Ask, Answer>[]): Promise<void> {
    const retries = await runAndSettle(options.run, batch)
    waiting = [...retries, ...waiting]
    for (const one of batch) busyKeys.delete(options.orderKeyOf(one.ask))
    if (restMs > 0) await wait(restMs, undefined, closing).catch(() => undefined)
  }

  return {
    ask: (ask) =>
      new Promise((settle, fail) => {
        if (closing.signal.aborted) {
          fail(new Error('metering is closed'))
          return
        }
        waiting.push({ ask, settle, fail })
        if (scheduled) return
        scheduled = true
        // A microtask later, so that requests of the same turn share a batch.
        queueMicrotask(() => {
          scheduled = false
          flush()
        })
      }),
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      flush()
      while (inFlight.size > 0) await Promise.all(inFlight)
    },
  }
}

/** Runs a batch and settles its requests; returns those that must be run again. */
async function runAndSettle<Ask, Answer>(
  run: GroupCommitOptions<Ask, Answer>['run'],
  batch: readonly Waiting<Ask, Answer>[],
): Promise<readonly Waiting<Ask, Answer>[]> {
  try {
    const answers = await run(batch.map((one) => one.ask))
    return batch.filter((one, index) => !settled(one, answers[index]))
  } catch (cause) {
    if (batch.length === 1 || isPassing(cause)) {
      for (const one of batch) one.fail(cause)
      return []
    }
    const retries: Waiting<Ask, Answer>[] = []
    for (const one of batch) retries.push(...(await runAndSettle(run, [one])))
    return retries
  }
}

function settled<Ask, Answer>(
  one: Waiting<Ask, Answer>,
  answer: Answer | typeof RETRY | undefined,
): boolean {
  if (answer === RETRY) return false
  if (answer === undefined) one.fail(new Error('a batch was answered with fewer answers than asks'))
  else one.settle(answer)
  return true
}
