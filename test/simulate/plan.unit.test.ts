import { expect, test } from 'vitest'
import { fileOf, rowsOf } from './batch-rows.ts'
import { planOf } from './plan.ts'

const SEEDS = Array.from({ length: 200 }, (_, at) => at + 1)

test('a seed has one plan, and another seed another', () => {
  const texts = SEEDS.map((seed) => JSON.stringify(planOf(seed, true)))
  expect(SEEDS.map((seed) => JSON.stringify(planOf(seed, true)))).toEqual(texts)
  expect(new Set(texts).size).toBe(SEEDS.length)
})

test('every fifth world is calm, and without Redis all are on Postgres', () => {
  for (const seed of SEEDS) {
    const plan = planOf(seed, false)
    expect(plan.faults.length === 0).toBe(seed % 5 === 0)
    expect(plan.backend).toBe('postgres')
  }
})

test('each row of a plan differs from all others, so that a lost or doubled one is seen', () => {
  for (const seed of SEEDS.slice(0, 20)) {
    const batches = planOf(seed, true).acts.filter((act) => act.kind === 'batch')
    const rows = batches.flatMap((batch, no) => rowsOf(batch, no).map(({ cells }) => cells))
    expect(new Set(rows.map((cells) => JSON.stringify(cells))).size).toBe(rows.length)
    const lines = batches.map((batch, no) => fileOf(batch, no).split('\n').length - 2)
    expect(lines).toEqual(batches.map((batch) => batch.rows))
  }
})
