import { MESSAGES, Problem } from '@plumbline/contract/problem'
import { setImmediate as turn } from 'node:timers/promises'

/** How long a call waits for the database: it is refused within two seconds where that is away. */
const PATIENCE_MS = 1_400

/** How long a refusal waits for what it would like to do or tell beside. */
const REFUSAL_MS = 200

/**
 * What the database answers to a call, or the refusal of the call where it takes too long.
 * @param late called where it does; what was asked goes on
 * @throws Problem `unavailable` where nothing came in time
 */
export function orRefused<T>(asked: Promise<T>, late?: () => void): Promise<T> {
  return inTime(PATIENCE_MS, asked, (_, reject) => {
    late?.()
    reject(new Problem('unavailable', MESSAGES.unavailable, { retryAfterSeconds: 2 }))
  })
}

/** Waits a moment for what a refusal does beside; it goes on where that takes longer. */
export function forMoment(asked: Promise<void>): Promise<void> {
  return inTime(REFUSAL_MS, asked, (resolve) => resolve())
}

/** Without `Promise.race` and signals, which cost more than a quick answer of the database. */
function inTime<T>(
  limitMs: number,
  asked: Promise<T>,
  end: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = async (): Promise<void> => {
      // A process that was too busy to read an answer in time reads it now.
      await turn()
      await turn()
      if (!isOver) end(resolve, reject)
    }
    const timer = setTimeout(() => void giveUp(), limitMs)
    let isOver = false
    const over = (): void => {
      isOver = true
      clearTimeout(timer)
    }
    asked.then(
      (answer) => {
        over()
        resolve(answer)
      },
      (error: unknown) => {
        over()
        reject(error)
      },
    )
  })
}
