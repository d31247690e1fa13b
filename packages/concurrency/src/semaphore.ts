/** Limits how many callers run at once; the others wait in order of arrival. */
export interface Semaphore {
  /** Waits for a permit; the returned function releases it and must be called once. */
  enter(): Promise<() => void>
  /** Runs a task with a permit of its own. */
  run<T>(task: () => Promise<T>): Promise<T>
}

/**
 * Creates a semaphore.
 *
 * @param permits concurrent callers, at least one
 */
export function createSemaphore(permits: number): Semaphore {
  if (!(permits >= 1)) throw new RangeError(`a semaphore needs at least one permit, not ${permits}`)
  const waiting: (() => void)[] = []
  let taken = 0

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) taken -= 1
    else next()
  }

  function enter(): Promise<() => void> {
    if (taken >= permits) return new Promise((resolve) => waiting.push(() => resolve(once(leave))))
    taken += 1
    return Promise.resolve(once(leave))
  }

  return {
    enter,
    async run(task) {
      const exit = await enter()
      try {
        return await task()
      } finally {
        exit()
      }
    },
  }
}

function once(leave: () => void): () => void {
  let isInside = true
  return () => {
    if (isInside) leave()
    isInside = false
  }
}
