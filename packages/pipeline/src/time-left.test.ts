import type { Check } from '@plumbline/contract/products'
import type { OpenGroup, PaceSample } from '@plumbline/db/tables/batches'
import { describe, expect, test } from 'vitest'
import { timeLeftMs, withSample } from './time-left.ts'

/** The share of a check's subjects that is open after this many seconds, 1 to 0. */
type Trace = (second: number) => number

interface Run {
  readonly checks: Readonly<Partial<Record<Check, Trace>>>
  /** The waiting groups of the addresses at a second. */
  readonly groups?: (second: number) => readonly OpenGroup[]
  /** Seconds between two saves of workers. */
  readonly saveEvery?: number
  /** The second until which a task waits for its time. */
  readonly waitsUntil?: number
}

const SUBJECTS = 100_000

/** The estimate at half of a run and the actual time left, in seconds, on a simulated clock. */
function atHalf(run: Run): { told: number; left: number } {
  const { checks, groups = () => [], saveEvery = 1, waitsUntil = 0 } = run
  const openAt = (second: number): Partial<Record<Check, number>> =>
    Object.fromEntries(
      Object.entries(checks)
        .map(([check, trace]) => [check, Math.round(trace(second) * SUBJECTS)])
        .filter(([, open]) => open !== 0),
    )
  const totals = Object.fromEntries(Object.keys(checks).map((check) => [check, SUBJECTS]))
  const all = SUBJECTS * Object.keys(checks).length
  let samples: readonly PaceSample[] = []
  let told: { readonly second: number; readonly ms: number } | undefined
  for (let second = saveEvery; second < 100_000; second += saveEvery) {
    const open = openAt(second)
    const left = Object.values(open).reduce((sum, count) => sum + count, 0)
    if (left === 0) return { told: (told?.ms ?? 0) / 1000, left: second - (told?.second ?? second) }
    samples = withSample(samples, { at: second * 1000, open, groups: groups(second) }, 0) ?? samples
    if (told !== undefined || left > all / 2) continue
    const ms = timeLeftMs({
      elapsedMs: second * 1000,
      nowMs: second * 1000,
      totals,
      open,
      groups: groups(second),
      samples,
      waitMs: Math.max(0, waitsUntil - second) * 1000,
    })
    if (ms !== null) told = { second, ms }
  }
  throw new Error('the run does not end')
}

/** Open in equal steps from one second to another. */
const steady =
  (from: number, to: number): Trace =>
  (second) =>
    Math.min(1, Math.max(0, (to - second) / (to - from)))

/** Parts of a list, each with its share and pace, in parallel. */
const side =
  (...parts: readonly (readonly [share: number, trace: Trace])[]): Trace =>
  (second) =>
    parts.reduce((sum, [share, trace]) => sum + share * trace(second), 0)

/** Providers, each with its share of a batch and the seconds that its part takes at least. */
type Providers = Readonly<Record<string, readonly [share: number, seconds: number]>>

/** A batch that is dispatched within some seconds; subjects beyond their provider's limit wait. */
function limited(seconds: number, providers: Providers): Run {
  const begun = steady(0, seconds)
  const partsAt = (second: number) =>
    Object.entries(providers).map(([key, [share, takes]]) => {
      const dispatched = share * (1 - begun(second))
      const answered = Math.min(dispatched, (share * second) / takes)
      return { key, dispatched, answered }
    })
  return {
    checks: {
      email: (second) => 1 - partsAt(second).reduce((sum, { answered }) => sum + answered, 0),
    },
    groups: (second) =>
      partsAt(second)
        .map(({ key, dispatched, answered }) => ({
          check: 'email' as const,
          key,
          open: Math.round((dispatched - answered) * SUBJECTS),
          answered: Math.round(answered * SUBJECTS),
        }))
        .filter(({ open }) => open > 0),
  }
}

describe('the estimated time left is within a factor of two at half time', () => {
  test.each<[string, Run]>([
    ['of a steady run', { checks: { email: steady(0, 300) } }],
    ['of a run of an hour', { checks: { email: steady(0, 3_600) } }],
    ['of one that waited for its turn', { checks: { email: steady(200, 400) } }],
    [
      'where much is known from before',
      { checks: { email: side([0.4, steady(0, 2)], [0.6, steady(0, 900)]) } },
    ],
    [
      'where one provider allows less than all others',
      { checks: { email: side([0.25, steady(0, 60)], [0.75, steady(0, 1_200)]) } },
    ],
    [
      'where three providers end one after the other',
      {
        checks: {
          email: side([0.2, steady(0, 30)], [0.3, steady(0, 400)], [0.5, steady(0, 1_000)]),
        },
      },
    ],
    [
      'of a pace that grows from nothing',
      { checks: { email: (t) => Math.max(0, 1 - (t / 600) ** 2) } },
    ],
    ['of checks side by side', { checks: { email: steady(0, 800), phone: steady(0, 90) } }],
    [
      'of four checks, one of them far behind',
      {
        checks: {
          email: steady(0, 900),
          phone: steady(0, 60),
          ip: steady(0, 5),
          domain: steady(0, 500),
        },
      },
    ],
    ['where a save brings in half a minute', { checks: { email: steady(0, 400) }, saveEvery: 30 }],
    [
      'where some are greylisted',
      {
        checks: { email: side([0.95, steady(0, 120)], [0.05, steady(899, 900)]) },
        waitsUntil: 900,
      },
    ],
    ['where one provider of a fifth is slow', limited(100, { fast: [0.8, 1], slow: [0.2, 900] })],
    ['where one of a tenth is very slow', limited(200, { fast: [0.9, 1], slow: [0.1, 7_200] })],
    ['where one of most is slow', limited(60, { fast: [0.3, 1], slow: [0.7, 600] })],
    [
      'where three providers are slow, each in its own way',
      limited(120, { fast: [0.4, 1], a: [0.3, 200], b: [0.2, 900], c: [0.1, 1_800] }),
    ],
    ['where a provider is as slow as the list', limited(300, { fast: [0.5, 1], slow: [0.5, 301] })],
  ])('%s', (_, run) => {
    const { told, left } = atHalf(run)
    expect(told).toBeGreaterThanOrEqual(left / 2)
    expect(told).toBeLessThanOrEqual(left * 2)
  })
})

test('there is no estimate before a check has a pace, and it is zero if no subject is open', () => {
  const seen = {
    elapsedMs: 9_000,
    nowMs: 9_000,
    samples: [],
    groups: [],
    waitMs: 0,
    totals: { email: 10 },
  }
  expect(timeLeftMs({ ...seen, open: { email: 10 } })).toBeNull()
  expect(timeLeftMs({ ...seen, open: {} })).toBe(0)
})

test('if all answers pause, the pace since the start is used', () => {
  const samples = [{ at: 50_000, open: { email: 50 } }]
  const totals = { email: 100 }
  const seen = { elapsedMs: 100_000, nowMs: 100_000, totals, samples, groups: [], waitMs: 0 }
  expect(timeLeftMs({ ...seen, open: { email: 50 } })).toBe(100_000)
})

test('samples are few, and cover a third of the time', () => {
  let samples: readonly PaceSample[] = []
  for (let at = 0; at <= 10_000_000; at += 1_000) {
    samples = withSample(samples, { at, open: {} }, 0) ?? samples
  }
  expect(samples.length).toBeLessThanOrEqual(12)
  expect(samples[0]?.at).toBeGreaterThan(5_000_000)
  expect(samples[0]?.at).toBeLessThan(8_000_000)
})
