/** Leaves processor time to single calls while a worker also runs tasks of batches. */
export interface BulkPace extends Disposable {
  /** Records that the process answers a single call. */
  noteCall(): void
  /**
   * Resolves when a task may run, or at once if the signal aborts. Tasks begin in turn, at least one
   * each third of a second. The caller calls the result when the task has run.
   */
  enter(signal: AbortSignal): Promise<() => void>
}

/** Milliseconds after its last single call for which a process expects another one. */
const CALLS_MS = 30_000

/** Milliseconds between two looks at the event loop. */
const LOOK_MS = 100

/**
 * Shares of the time that the event loop is busy: above the first fewer tasks run, below the second more.
 * A call passes the event loop several times, so that a loop that is half busy doubles its slowest times.
 */
const BUSY = 0.3
const IDLE = 0.2

/** Tasks that run at once when calls begin; engines that wait for servers soon have more. */
const FIRST_LIMIT = 2

/**
 * Milliseconds after the last begin of a task from which the next look begins another, whatever the
 * limit: tasks that wait for servers take longer, so that they lose little where those of another
 * check keep the processor busy. One by one, as many that begin together delay calls.
 */
const BEGIN_EVERY_MS = 250

/**
 * Makes the pace of one process. While it answers single calls and its event loop is busy, fewer
 * tasks run at once, since calls would wait for the processor. Engines that wait for servers keep
 * no event loop busy, and are not limited.
 *
 * @param readBusy share of the time since the last reading that the event loop was busy
 */
export function createBulkPace(readBusy: () => number = eventLoopBusy()): BulkPace {
  const waiting = new Set<() => void>()
  let running = 0
  let limit = Number.POSITIVE_INFINITY
  let calledAtMs = 0
  let begunAtMs = 0
  let timer: NodeJS.Timeout | undefined

  function fill(): void {
    for (const begin of waiting) {
      if (running >= limit) return
      begin()
    }
  }

  function count(): void {
    running += 1
    begunAtMs = performance.now()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
    limit = Number.POSITIVE_INFINITY
    fill()
  }

  function look(): void {
    if (performance.now() - calledAtMs > CALLS_MS) {
      stop()
      return
    }
    const busy = readBusy()
    if (busy > BUSY) limit = Math.max(1, Math.floor((Math.min(limit, running) * 3) / 4))
    else if (busy < IDLE && waiting.size > 0) limit += 1
    fill()
    const [first] = waiting
    if (performance.now() - begunAtMs >= BEGIN_EVERY_MS) first?.()
  }

  return {
    noteCall() {
      calledAtMs = performance.now()
      if (timer !== undefined) return
      limit = FIRST_LIMIT
      readBusy()
      timer = setInterval(look, LOOK_MS)
      timer.unref()
    },
    async enter(signal) {
      if (running >= limit && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const begin = (): void => {
            waiting.delete(begin)
            signal.removeEventListener('abort', begin)
            count()
            resolve()
          }
          waiting.add(begin)
          signal.addEventListener('abort', begin, { once: true })
        })
      } else {
        count()
      }
      return () => {
        running -= 1
        fill()
      }
    },
    [Symbol.dispose]: stop,
  }
}

/** Reads the share of the time since the last reading that this process' event loop was busy. */
function eventLoopBusy(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
