import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import { describe, expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { pack, packOutcomes, unpackOutcomes } from './codec.ts'

const SUBJECTS: readonly (readonly [Check, readonly string[]])[] = [
  ['email', ['ada@example.com', 'no address', 'łukasz@example.com']],
  ['phone', ['+14155550100', '+1', '+14155550101']],
  ['ip', ['192.0.2.1', '10.0.0.1', '2001:db8::1']],
  ['domain', ['example.com', 'unknown.example', '__proto__']],
]

describe.each(SUBJECTS)('outcomes of %s', (check, subjects) => {
  const outcomes = subjects.map((subject) => outcomeFor(check, subject))

  test('come back whole where the batch explains', async () => {
    expect(unpackOutcomes(await packOutcomes(outcomes, true))).toEqual(outcomes)
  })

  test('come back without how they are known where it does not', async () => {
    const bare = outcomes.map(({ status, reason, facts }) => ({ status, reason, facts }))
    expect(unpackOutcomes(await packOutcomes(outcomes, false))).toEqual(bare)
  })

  test('keep the place of a subject that our own fault left unanswered', async () => {
    const [first, ...rest] = outcomes
    const some: (Outcome | null)[] = [null, first ?? null, null, ...rest, null]
    expect(unpackOutcomes(await packOutcomes(some, true))).toEqual(some)
  })
})

test('a part in which nothing was answered comes back so', async () => {
  expect(unpackOutcomes(await packOutcomes([null], false))).toEqual([null])
  expect(unpackOutcomes(await packOutcomes([], true))).toEqual([])
})

test('a part holds the name of a fact once, not once for each subject', async () => {
  const outcomes = Array.from({ length: 1000 }, (_, at) => outcomeFor('ip', `192.0.2.${at % 256}`))
  const packed = await packOutcomes(outcomes, false)
  expect(packed.length).toBeLessThan(JSON.stringify(outcomes[0]).length * 10)
})

test('outcomes of 0.1.0, whose columns are whole and not counted, are read', () => {
  const outcome = outcomeFor('phone', '+14155550100')
  const { status, reason, facts } = outcome
  const columns = {
    fields: { status: [status, null], reason: [reason, null] },
    facts: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, [value, null]])),
  }
  expect(unpackOutcomes(pack(columns))).toEqual([{ status, reason, facts }, null])
})
