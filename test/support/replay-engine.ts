import type { Engine } from '@plumbline/contract/engine'
import type { Answer } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'

/** Answers of the real engine that are kept before they are handed out again. */
const KEPT = 5_000

/**
 * An engine that asks the real one about the first 5,000 subjects and then gives their answers to all
 * others, each with its own address: what a list costs besides the lookups, with answers as they are.
 */
export function replayEngine(real: Engine<Check>): Engine<Check> {
  const kept: Answer[] = []
  let next = 0
  return {
    check: real.check,
    run: async (request) => {
      if (kept.length < KEPT) {
        const answers = await real.run(request)
        kept.push(...answers)
        return answers
      }
      return request.subjects.map((subject) => {
        const answer = kept[next++ % kept.length]
        if (answer?.kind !== 'outcome' || !('ip' in answer.facts)) {
          throw new Error('only answers about addresses can be given to others')
        }
        return { ...answer, facts: { ...answer.facts, ip: subject } }
      })
    },
    health: () => real.health(),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
