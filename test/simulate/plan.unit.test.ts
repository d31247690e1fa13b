import { expect, test } from 'vitest'
import { SHORT_FILE_BYTES } from '@plumbline/db/batches/stages'
import { fileOf, rowsOf } from './batch-rows.ts'
import { SILENCES } from './plan-faults.ts'
import { planOf } from './plan.ts'

const SEEDS = Array.from({ length: 200 }, (_, at) => at + 1)

test('the plan of a seed is always the same, and differs from those of other seeds', () => {
  const texts = SEEDS.map((seed) => JSON.stringify(planOf(seed, true)))
  expect(SEEDS.map((seed) => JSON.stringify(planOf(seed, true)))).toEqual(texts)
  expect(new Set(texts).size).toBe(SEEDS.length)
})

test('every fifth world has no faults, and without Redis all queues are on Postgres', () => {
  for (const seed of SEEDS) {
    const plan = planOf(seed, false)
    expect(plan.faults.length === 0).toBe(seed % 5 === 0)
    expect(plan.backend).toBe('postgres')
  }
})

test('any ten successive seeds have, on each backend, a world that kills workers with claimed tasks and one that cancels a large batch', () => {
  for (const first of SEEDS.slice(0, 20)) {
    const plans = Array.from({ length: 10 }, (_, at) => planOf(first + at, true))
    const away = plans.filter(({ faults }) => faults.some(({ kind }) => kind === 'kill_claimed'))
    expect(new Set(away.map(({ backend }) => backend)).size).toBe(2)
    const canceled = plans.filter(({ seed }) => seed % 5 === 2)
    expect(new Set(canceled.map(({ backend }) => backend)).size).toBe(2)
    for (const { requests, chunkRecords } of canceled) {
      const [batch] = requests.filter((request) => request.kind === 'batch')
      expect(Math.ceil((batch?.rows ?? 0) / chunkRecords)).toBeGreaterThan(260)
      expect(batch?.special).toBe('all_wait')
      expect(requests).toContainEqual(
        expect.objectContaining({ change: 'cancel', batch: 0, again: true }),
      )
    }
  }
})

test('of any twenty successive seeds, ten have connections that outlast a failover, with every theme on each backend', () => {
  for (const first of SEEDS.slice(0, 20)) {
    const plans = Array.from({ length: 20 }, (_, at) => planOf(first + at, true))
    const pooled = plans.filter(({ isPooled }) => isPooled)
    expect(new Set(pooled.map(({ seed, backend }) => `${seed % 5} ${backend}`)).size).toBe(10)
  }
})

test('the first 25 worlds have, on each backend, silent connections, processes suspended in a round, and a promotion', () => {
  const plans = SEEDS.slice(0, 25).map((seed) => planOf(seed, true))
  for (const backend of ['postgres', 'redis']) {
    const faults = plans.filter((plan) => plan.backend === backend).flatMap((plan) => plan.faults)
    const kinds = faults.flatMap((fault) =>
      'fault' in fault ? [fault.kind, fault.fault] : [fault.kind],
    )
    for (const kind of [...SILENCES, 'suspend', 'suspend_round', 'promote']) {
      expect(kinds).toContain(kind)
    }
  }
})

test('at most one standby is promoted in a world, and no connection to Redis goes silent where there is none', () => {
  for (const seed of SEEDS) {
    const { faults, backend } = planOf(seed, true)
    expect(faults.filter(({ kind }) => kind === 'promote').length).toBeLessThanOrEqual(1)
    const silent = faults.filter((fault) => fault.kind === 'silence' && fault.store === 'redis')
    if (backend === 'postgres') expect(silent).toEqual([])
  }
})

test('in a world without faults one account submits eight long files and then another a short one', () => {
  for (const seed of SEEDS.filter((one) => one % 5 === 0)) {
    const { requests } = planOf(seed, true)
    const batches = requests.filter((request) => request.kind === 'batch')
    const files = batches.map((batch, no) => ({ ...batch, bytes: fileOf(batch, no).length }))
    const long = files.filter(({ bytes }) => bytes > SHORT_FILE_BYTES)
    expect(long).toHaveLength(8)
    const beside = files.find(({ atMs }) => atMs > (long.at(-1)?.atMs ?? Infinity))
    expect(beside?.bytes).toBeLessThan(1_000)
    expect(long.map(({ account }) => account)).not.toContain(beside?.account)
    expect(Math.max(...long.map(({ atMs }) => atMs))).toBeLessThan(beside?.atMs ?? 0)
  }
})

test('each row of a plan differs from all others, so that a lost or duplicate one is detected', () => {
  for (const seed of SEEDS.slice(0, 20)) {
    const batches = planOf(seed, true).requests.filter((request) => request.kind === 'batch')
    const rows = batches.flatMap((batch, no) => rowsOf(batch, no).map(({ cells }) => cells))
    expect(new Set(rows.map((cells) => JSON.stringify(cells))).size).toBe(rows.length)
    const lines = batches.map((batch, no) => fileOf(batch, no).split('\n').length - 2)
    expect(lines).toEqual(batches.map((batch) => batch.rows))
  }
})
