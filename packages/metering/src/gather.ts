/** Answers asks one by one, though those that wait at the same moment travel together. */
export interface Gather<Ask, Answer> extends AsyncDisposable {
  /** Settles when the group that carried the ask is committed. */
  ask(ask: Ask): Promise<Answer>
}

/** What a run says of an ask that has to travel once more, before those that came after it. */
export const AGAIN = Symbol('again')

interface Waiting<Ask, Answer> {
  readonly ask: Ask
  readonly settle: (answer: Answer) => void
  readonly fail: (cause: unknown) => void
}

/**
 * Gathers asks while a group is under way and sends them as the next one, at most `limit` at a time
 * and one group after another, in order of arrival. Alone, an ask leaves at once.
 *
 * When a group fails, each of its asks is tried by itself, so that one that cannot be carried out
 * does not fail its neighbours.
 *
 * @param run - carries out a group and answers in its order; must take effect once for each ask
 *   however often it is run
 */
export function createGather<Ask, Answer>(
  limit: number,
  run: (asks: readonly Ask[]) => Promise<readonly (Answer | typeof AGAIN)[]>,
): Gather<Ask, Answer> {
  let waiting: Waiting<Ask, Answer>[] = []
  let flight: Promise<void> | undefined
  let closed = false

  async function fly(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.splice(0, limit)
      waiting = [...(await carry(group)), ...waiting]
    }
    flight = undefined
  }

  async function carry(group: readonly Waiting<Ask, Answer>[]): Promise<Waiting<Ask, Answer>[]> {
    try {
      const answers = await run(group.map((one) => one.ask))
      return group.filter((one, index) => !settled(one, answers[index]))
    } catch (cause) {
      const [only] = group
      if (group.length === 1 && only !== undefined) {
        only.fail(cause)
        return []
      }
      const left: Waiting<Ask, Answer>[] = []
      for (const one of group) left.push(...(await carry([one])))
      return left
    }
  }

  function settled(one: Waiting<Ask, Answer>, answer: Answer | typeof AGAIN | undefined): boolean {
    if (answer === AGAIN) return false
    if (answer === undefined)
      one.fail(new Error('a group was answered with fewer answers than asks'))
    else one.settle(answer)
    return true
  }

  return {
    ask: (ask) =>
      new Promise((settle, fail) => {
        if (closed) {
          fail(new Error('metering is closed'))
          return
        }
        waiting.push({ ask, settle, fail })
        flight ??= Promise.resolve().then(fly)
      }),
    [Symbol.asyncDispose]: async () => {
      closed = true
      await flight
    },
  }
}
