import { setTimeout as wait } from 'node:timers/promises'
import { isTemporary } from '@plumbline/db/retry'

/**
 * Runs requests that wait at the same moment in one statement with one commit, and gives each its
 * own result.
 */
export interface GroupCommit<Request, Result> extends AsyncDisposable {
  /** Resolves when the batch that holds the request is committed. */
  submit(request: Request): Promise<Result>
}

/** Result for a request that must go into another batch, before those that arrived after it. */
export const RETRY = Symbol('retry')

/** Options of a group commit. */
export interface GroupCommitOptions<Request, Result> {
  /** Maximum number of requests in a batch. */
  readonly maxItems: number
  /** Maximum number of batches in flight. */
  readonly maxRuns: number
  /** Milliseconds to wait for more requests after a batch; default 0. */
  readonly pauseMs?: number
  /** Number of requests in a batch from which on there is a pause; default 1. */
  readonly pauseFrom?: number
  /** Requests with the same key are never in two batches at once, so they keep their order. */
  readonly orderKeyOf: (request: Request) => string
  /**
   * Executes a batch and returns results in its order; each request must take effect once, however
   * often it is run.
   */
  readonly run: (requests: readonly Request[]) => Promise<readonly (Result | typeof RETRY)[]>
}

interface Waiting<Request, Result> {
  readonly request: Request
  readonly settle: (result: Result) => void
  readonly fail: (cause: unknown) => void
}

/**
 * Commits the requests that arrive while batches are in flight as the next batch, in order of
 * arrival within each key. A lone request is run at once. If a batch fails because of its content,
 * each of its requests is tried alone, so that an invalid one does not fail the others; if the
 * database is down, all of them fail.
 */
export function openGroupCommit<Request, Result>(
  options: GroupCommitOptions<Request, Result>,
): GroupCommit<Request, Result> {
  const { pauseMs = 0, pauseFrom = 1 } = options
  const closing = new AbortController()
  let waiting: Waiting<Request, Result>[] = []
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

  /** Takes requests whose key is free, and reserves their keys until the pause after the batch ends. */
  function takeBatch(): readonly Waiting<Request, Result>[] {
    const batch: Waiting<Request, Result>[] = []
    const left: Waiting<Request, Result>[] = []
    for (const one of waiting) {
      const fits = batch.length < options.maxItems && !busyKeys.has(options.orderKeyOf(one.request))
      ;(fits ? batch : left).push(one)
    }
    waiting = left
    for (const one of batch) busyKeys.add(options.orderKeyOf(one.request))
    return batch
  }

  async function runBatch(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    const retries = await runAndSettle(options.run, batch)
    waiting = [...retries, ...waiting]
    if (pauseMs > 0 && batch.length >= pauseFrom) {
      await wait(pauseMs, undefined, closing).catch(() => undefined)
    }
    for (const one of batch) busyKeys.delete(options.orderKeyOf(one.request))
  }

  return {
    submit: (request) =>
      new Promise((settle, fail) => {
        if (closing.signal.aborted) {
          fail(new Error('metering is closed'))
          return
        }
        waiting.push({ request, settle, fail })
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
async function runAndSettle<Request, Result>(
  run: GroupCommitOptions<Request, Result>['run'],
  batch: readonly Waiting<Request, Result>[],
): Promise<readonly Waiting<Request, Result>[]> {
  try {
    const results = await run(batch.map((one) => one.request))
    return batch.filter((one, index) => !settled(one, results[index]))
  } catch (cause) {
    if (batch.length === 1 || isTemporary(cause)) {
      for (const one of batch) one.fail(cause)
      return []
    }
    const retries: Waiting<Request, Result>[] = []
    for (const one of batch) retries.push(...(await runAndSettle(run, [one])))
    return retries
  }
}

function settled<Request, Result>(
  one: Waiting<Request, Result>,
  result: Result | typeof RETRY | undefined,
): boolean {
  if (result === RETRY) return false
  if (result === undefined) one.fail(new Error('a batch returned fewer results than requests'))
  else one.settle(result)
  return true
}
