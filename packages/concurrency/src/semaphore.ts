/** Lets at most so many through at once; the others wait in their order. */
export interface Semaphore {
  /** Waits for a place; it is free again when the answer is called, once. */
  enter(): Promise<() => void>
  /** Runs a task in a place of its own. */
  run<T>(task: () => Promise<T>): Promise<T>
}

/** @param places how many may be inside at once, at least one */
export function createSemaphore(places: number): Semaphore {
  if (!(places >= 1)) throw new RangeError(`a semaphore needs at least one place, met ${places}`)
  const waiting: (() => void)[] = []
  let taken = 0

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) taken -= 1
    else next()
  }

  function enter(): Promise<() => void> {
    if (taken >= places) return new Promise((resolve) => waiting.push(() => resolve(once(leave))))
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
