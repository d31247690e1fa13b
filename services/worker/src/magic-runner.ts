import { setTimeout as wait } from 'node:timers/promises'
import { magicAnswer } from '@plumbline/contract/magic'
import type { Answer } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { CheckRunner } from '@plumbline/pipeline/run-task'

/** Slow values are slow in single calls; in a list they only show that waiting works. */
const LIST_DELAY_MS = 100

/**
 * Answers lists of test keys from the table of magic values, without a network. A value that stands
 * for a refused call has no outcome of its own in a list: it gets what the check says of others.
 */
export function createMagicRunner(check: Check): CheckRunner {
  return {
    run: async ({ subjects, depth, answered }) => {
      const answers: Answer[] = []
      for (const [index, subject] of subjects.entries()) {
        const magic = magicAnswer(check, subject, depth)
        if (magic.kind === 'slow') await wait(LIST_DELAY_MS)
        const answer = magic.kind === 'problem' ? magicAnswer(check, PLAIN[check], depth) : magic
        if (answer.kind === 'problem') throw new Error(`no plain magic value for ${check}`)
        answers.push(answer.outcome)
        answered?.(index, answer.outcome)
      }
      return answers
    },
  }
}

// Values outside the table: they get the good verdict of their check.
const PLAIN: Readonly<Record<Check, string>> = {
  email: 'someone@example.com',
  phone: '+14155550100',
  ip: '8.8.8.8',
  domain: 'example.com',
}
