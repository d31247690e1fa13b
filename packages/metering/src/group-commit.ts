import { setTimeout as wait } from 'node:timers/promises'
import { isPassing } from '@plumbline/db/retry'

/**
 * Answers asks one by one, though those that wait at the same moment travel together, each lane in its
 * own order.
 */
export interface Lanes<Ask, Answer> extends AsyncDisposable {
  /** Settles when the group that carried the ask is committed. */
  ask(ask: Ask): Promise<Answer>
}

/** What a run says of an ask that has to travel once more, before those that came after it. */
export const AGAIN = Symbol('again')

/** How asks share statements. */
export interface LaneOptions<Ask, Answer> {
  /** Asks in a group at most. */
  readonly limit: number
  /** Groups under way at most. */
  readonly flights: number
  /** How long a flight waits for company before its next group; 0 by default. For asks nobody waits for. */
  readonly restMs?: number
  /** Asks of one lane never travel in two groups at once, so they keep their order. */
  readonly laneOf: (ask: Ask) => string
  /**
   * Carries out a group and answers in its order; must take effect once for each ask however often it
   * is run.
   */
  readonly run: (asks: readonly Ask[]) => Promise<readonly (Answer | typeof AGAIN)[]>
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask
  readonly settle: (answer: Answer) => void
  readonly fail: (cause: unknown) => void
}

/**
 * Sends the asks that come while groups are under way as the next one, in order of arrival within each
 * lane. Alone, an ask leaves at once.
 *
 * When a group fails for what it holds, each of its asks is tried by itself, so that one that cannot
 * be carried out does not fail its neighbours; when the database is away, all of them fail.
 */
export function openLanes<Ask, Answer>(options: LaneOptions<Ask, Answer>): Lanes<Ask, Answer> {
  const { restMs = 0 } = options
  const closing = new AbortController()
  let waiting: Waiting<Ask, Answer>[] = []
  const flights = new Set<Promise<void>>()
  const busy = new Set<string>()
  let boarding = false

  function depart(): void {
    while (flights.size < options.flights && waiting.length > 0) {
      const group = board()
      if (group.length === 0) return
      const flight = fly(group).finally(() => {
        flights.delete(flight)
        depart()
      })
      flights.add(flight)
    }
  }

  /** Takes those whose lane is free, and closes their lanes until the group is back. */
  function board(): readonly Waiting<Ask, Answer>[] {
    const group: Waiting<Ask, Answer>[] = []
    const left: Waiting<Ask, Answer>[] = []
    for (const one of waiting) {
      const room = group.length < options.limit && !busy.has(options.laneOf(one.ask))
      ;(room ? group : left).push(one)
    }
    waiting = left
    for (const one of group) busy.add(options.laneOf(one.ask))
    return group
  }

  async function fly(group: readonly Waiting<Ask, Answer>[]): Promise<void> {
    const again = await carry(options.run, group)
    waiting = [...again, ...waiting]
    for (const one of group) busy.delete(options.laneOf(one.ask))
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
        if (boarding) return
        boarding = true
        // One turn later, so that asks made in the same turn share a group.
        queueMicrotask(() => {
          boarding = false
          depart()
        })
      }),
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      depart()
      while (flights.size > 0) await Promise.all(flights)
    },
  }
}

/** Runs a group and settles its asks; answers those that have to travel again. */
async function carry<Ask, Answer>(
  run: LaneOptions<Ask, Answer>['run'],
  group: readonly Waiting<Ask, Answer>[],
): Promise<readonly Waiting<Ask, Answer>[]> {
  try {
    const answers = await run(group.map((one) => one.ask))
    return group.filter((one, index) => !settled(one, answers[index]))
  } catch (cause) {
    if (group.length === 1 || isPassing(cause)) {
      for (const one of group) one.fail(cause)
      return []
    }
    const left: Waiting<Ask, Answer>[] = []
    for (const one of group) left.push(...(await carry(run, [one])))
    return left
  }
}

function settled<Ask, Answer>(
  one: Waiting<Ask, Answer>,
  answer: Answer | typeof AGAIN | undefined,
): boolean {
  if (answer === AGAIN) return false
  if (answer === undefined) one.fail(new Error('a group was answered with fewer answers than asks'))
  else one.settle(answer)
  return true
}
