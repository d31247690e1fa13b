import { magicAnswer, magicValues } from '@plumbline/contract/magic'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { expect, test } from 'vitest'
import { createMagicRunner } from './magic-runner.ts'

test.each(CHECKS)('no row of %s gets the outcome of another subject', async (check) => {
  const subjects = magicValues(check).map(({ value }) => value)
  const answers = await createMagicRunner(check).run({
    subjects,
    depth: 'basic',
    lane: 'bulk',
    account: 'account',
    signal: new AbortController().signal,
  })
  expect(answers).toHaveLength(subjects.length)
  for (const [at, answer] of answers.entries()) {
    const subject = subjects[at] ?? ''
    const single = magicAnswer(check, subject, 'basic')
    if (single.kind === 'problem') expect(answer).toEqual({ kind: 'failed' })
    else expect(answer).toEqual(single.outcome)
    if (answer.kind === 'outcome') expect(Object.values(answer.facts)).toContain(subject)
  }
})

test('a refusal of any kind is a failed row', async () => {
  const values: Readonly<Record<Check, string>> = {
    email: 'status-503@magic.test',
    phone: '+12025550142',
    ip: '192.0.2.150',
    domain: 'status-429.magic.test',
  }
  for (const check of CHECKS) {
    const told: number[] = []
    const answers = await createMagicRunner(check).run({
      subjects: [values[check]],
      depth: 'extended',
      lane: 'bulk',
      account: 'account',
      signal: new AbortController().signal,
      answered: (index) => told.push(index),
    })
    expect([answers, told]).toEqual([[{ kind: 'failed' }], []])
  }
})

test('slow values are not waited for once the run has ended, as when the batch is canceled', async () => {
  const ending = new AbortController()
  const told: number[] = []
  await createMagicRunner('email').run({
    subjects: Array<string>(50).fill('slow@magic.test'),
    depth: 'basic',
    lane: 'bulk',
    account: 'account',
    signal: ending.signal,
    answered(index) {
      told.push(index)
      ending.abort()
    },
  })
  expect(told).toEqual([0])
})
