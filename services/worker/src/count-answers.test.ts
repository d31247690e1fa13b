import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { Engine } from '@plumbline/ports/engine'
import { instantEngine, outcomeFor } from '@plumbline/testkit/instant-engines'
import { createMetrics } from '@plumbline/runtime/metrics'
import { expect, test } from 'vitest'
import { createAnswerCounter } from './count-answers.ts'

const REQUEST = {
  depth: 'basic',
  lane: 'bulk',
  account: 'an account',
  signal: new AbortController().signal,
} as const

test('outcomes and waits are counted by status and reason, without a subject', async () => {
  const metrics = createMetrics()
  const counter = createAnswerCounter(metrics)
  const engine = counter(instantEngine('email', { delayMs: 0, width: 1, later: true }))
  const subjects = ['ada@a.example', 'bob@a.example', 'grey1@a.example']
  await engine.run({ ...REQUEST, subjects })
  const text = await metrics.registry.metrics()
  expect(text).toContain('subjects_put_off_total{check="email",reason="greylisted"} 1')
  expect(sumOf(text, 'outcomes_total')).toBe(2)
  expect(sumOf(text, 'outcome_seconds_count'), 'asked of nobody').toBe(0)
  expect(text).not.toMatch(/ada|bob/)
})

test('the provider is that of the mailbox, or the one that looked up the number', async () => {
  const metrics = createMetrics()
  const counter = createAnswerCounter(metrics)
  const evidenceOf = (check: Check, evidence: Outcome['evidence']): Engine<Check> =>
    counter({
      ...instantEngine(check),
      run: async ({ subjects }) =>
        subjects.map((subject) => ({ ...outcomeFor(check, subject), evidence })),
    })
  const phone = evidenceOf('phone', { hlr: { provider: 'messente' } })
  const email = evidenceOf('email', { provider: 'google' })
  await phone.run({ ...REQUEST, subjects: ['+14155550100'] })
  await email.run({ ...REQUEST, subjects: ['ada@a.example'] })
  const text = await metrics.registry.metrics()
  expect(text).toMatch(/outcomes_total\{check="phone",.*provider="messente"\} 1/)
  expect(text).toMatch(/outcomes_total\{check="email",.*provider="google"\} 1/)
})

test('of a batch only what is reported before an abort is counted, of a single call what is returned', async () => {
  const metrics = createMetrics()
  const counter = createAnswerCounter(metrics)
  const stop = new AbortController()
  const engine = counter({
    ...instantEngine('email'),
    run: async ({ subjects, answered }) => {
      const answers = subjects.map((subject) => outcomeFor('email', subject))
      if (answers[0] !== undefined) answered?.(0, answers[0])
      stop.abort()
      if (answers[1] !== undefined) answered?.(1, answers[1])
      return answers
    },
  })
  const subjects = ['ada@a.example', 'bob@a.example', 'eve@a.example']
  const reported: number[] = []
  const answered = (index: number): void => void reported.push(index)
  await engine.run({ ...REQUEST, signal: stop.signal, subjects, answered })
  expect(reported, 'the caller is told as before').toEqual([0, 1])
  expect(sumOf(await metrics.registry.metrics(), 'outcomes_total')).toBe(1)
  await engine.run({ ...REQUEST, lane: 'live', signal: stop.signal, subjects })
  expect(sumOf(await metrics.registry.metrics(), 'outcomes_total')).toBe(1 + subjects.length)
})

test('what an engine reports before it throws is counted, and nothing twice', async () => {
  const metrics = createMetrics()
  const counter = createAnswerCounter(metrics)
  const engine = counter({
    ...instantEngine('ip'),
    run: async ({ subjects, answered }) => {
      const answers = subjects.map((subject) => outcomeFor('ip', subject))
      for (const [index, answer] of answers.entries()) answered?.(index, answer)
      if (subjects.includes('192.0.2.3')) throw new Error('a bug')
      return answers
    },
  })
  await engine.run({ ...REQUEST, subjects: ['192.0.2.1', '192.0.2.2'] })
  expect(sumOf(await metrics.registry.metrics(), 'outcomes_total')).toBe(2)
  const failing = engine.run({ ...REQUEST, subjects: ['192.0.2.3'] })
  await expect(failing).rejects.toThrow('a bug')
  expect(sumOf(await metrics.registry.metrics(), 'outcomes_total')).toBe(3)
})

function sumOf(text: string, name: string): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
