import { setTimeout as wait } from 'node:timers/promises'
import { magicAnswer } from '@plumbline/contract/magic'
import type { Answer } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { CheckRunner, Failed } from '@plumbline/pipeline/run-task'

/** Slow values are slow in single calls; in a list they only show that waiting works. */
const LIST_DELAY_MS = 100

/**
 * Answers lists of test keys from the table of magic values, without a network. A value that stands
 * for a refused call has no verdict: its row is an error, as one that our own fault kept from an answer.
 */
export function createMagicRunner(check: Check): CheckRunner {
  return {
    run: async ({ subjects, depth, answered }) => {
      const answers: (Answer | Failed)[] = []
      for (const [index, subject] of subjects.entries()) {
        const magic = magicAnswer(check, subject, depth)
        if (magic.kind === 'problem') {
          answers.push({ kind: 'failed' })
          continue
        }
        if (magic.kind === 'slow') await wait(LIST_DELAY_MS)
        answers.push(magic.outcome)
        answered?.(index, magic.outcome)
      }
      return answers
    },
  }
}
