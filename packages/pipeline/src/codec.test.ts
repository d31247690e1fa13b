import { zstdDecompressSync } from 'node:zlib'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import { describe, expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import {
  pack,
  packCells,
  packOutcomes,
  unpackCells,
  unpackOutcomes,
  type ChunkCells,
} from './codec.ts'

const SUBJECTS: readonly (readonly [Check, readonly string[]])[] = [
  ['email', ['ada@example.com', 'no address', 'łukasz@example.com']],
  ['phone', ['+14155550100', '+1', '+14155550101']],
  ['ip', ['192.0.2.1', '10.0.0.1', '2001:db8::1']],
  ['domain', ['example.com', 'unknown.example', '__proto__']],
]

describe.each(SUBJECTS)('outcomes of %s', (check, subjects) => {
  const outcomes = subjects.map((subject) => outcomeFor(check, subject))

  test('come back complete if the batch explains', async () => {
    expect(unpackOutcomes(await packOutcomes(outcomes, true))).toEqual(outcomes)
  })

  test('come back without evidence if it does not', async () => {
    const bare = outcomes.map(({ status, reason, facts }) => ({ status, reason, facts }))
    expect(unpackOutcomes(await packOutcomes(outcomes, false))).toEqual(bare)
  })

  test('keep the position of a subject without an outcome after a fault of ours', async () => {
    const [first, ...rest] = outcomes
    const some: (Outcome | null)[] = [null, first ?? null, null, ...rest, null]
    expect(unpackOutcomes(await packOutcomes(some, true))).toEqual(some)
  })
})

test('of a part without any outcome come back as such', async () => {
  expect(unpackOutcomes(await packOutcomes([null], false))).toEqual([null])
  expect(unpackOutcomes(await packOutcomes([], true))).toEqual([])
})

test('store the name of a fact once, not once per subject', async () => {
  const outcomes = Array.from({ length: 1000 }, (_, at) => outcomeFor('ip', `192.0.2.${at % 256}`))
  const packed = await packOutcomes(outcomes, false)
  expect(packed.length).toBeLessThan(JSON.stringify(outcomes[0]).length * 10)
})

test('of version 0.1.0, whose columns are stored in full, are read', () => {
  const outcome = outcomeFor('phone', '+14155550100')
  const { status, reason, facts } = outcome
  const columns = {
    fields: { status: [status, null], reason: [reason, null] },
    facts: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, [value, null]])),
  }
  expect(unpackOutcomes(pack(columns))).toEqual([{ status, reason, facts }, null])
})

test('cells come back as packed, and are stored under the names of earlier versions', () => {
  const cells: ChunkCells = {
    rows: [['a@b.example'], ['A@b.example']],
    kinds: ['billable', 'duplicate'],
    ofRow: { 1: 0 },
    uncheckedSubjects: { 1: { email: 'A@b.example' } },
    errors: {},
    refs: {},
  }
  expect(unpackCells(packCells(cells))).toEqual(cells)
  const { uncheckedSubjects: asked, ...others } = cells
  expect(unpackCells(pack({ ...others, asked }))).toEqual(cells)
  expect(JSON.parse(zstdDecompressSync(packCells(cells)).toString())).toEqual({ ...others, asked })
})
