import { setTimeout as wait } from 'node:timers/promises'
import { magicAnswer } from '@plumbline/contract/magic'
import type { Answer } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import type { CheckRunner } from '@plumbline/pipeline/run-task'
import type { Failed } from '@plumbline/pipeline/task-work'

/** Milliseconds of delay of a slow magic value in a batch; in single calls it is longer. */
const BATCH_DELAY_MS = 100

/**
 * Answers batches of test keys from the table of magic values, without a network. A value of a
 * refused call has no outcome: its row is an error, as after a fault of the service.
 */
export function createMagicRunner(check: Check): CheckRunner {
  return {
    run: async ({ subjects, depth, signal, answered }) => {
      const answers: (Answer | Failed)[] = []
      for (const [index, subject] of subjects.entries()) {
        // The slow values of a chunk take minutes, and answers of an ended run are not used.
        if (signal.aborted) break
        const magic = magicAnswer(check, subject, depth)
        if (magic.kind === 'problem') {
          answers.push({ kind: 'failed' })
          continue
        }
        if (magic.kind === 'slow') await wait(BATCH_DELAY_MS)
        answers.push(magic.outcome)
        answered?.(index, magic.outcome)
      }
      return answers
    },
  }
}
