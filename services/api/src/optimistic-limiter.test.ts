import type { Grant } from '@plumbline/ports/limiter'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOptimisticLimiter } from './optimistic-limiter.ts'

const RATE = { perSecond: 50, burst: 100 }

/** A shared limiter whose replies are delayed until the test releases them. */
function slowLimiter(nowMs: () => number) {
  const limiter = createLocalLimiter({ nowMs })
  const travelling: (() => void)[] = []
  return {
    travelling,
    async take(key: string, count: number): Promise<Grant> {
      const grant = await limiter.take(key, count, RATE)
      await new Promise<void>((arrive) => travelling.push(arrive))
      return grant
    },
    async arrive(): Promise<void> {
      while (travelling.length > 0) {
        travelling.shift()?.()
        await turn()
      }
    },
  }
}

async function turn(): Promise<void> {
  await new Promise((next) => setImmediate(next))
}

function fail(error: unknown): never {
  throw error
}

test('far from the limit a call does not wait for the shared limiter, and concurrent calls are reported together', async () => {
  const shared = slowLimiter(() => 0)
  const limiter = createOptimisticLimiter(shared, fail, { now: () => 0, rest: turn })
  const first = limiter.take('a', 1, RATE)
  await turn()
  await shared.arrive()
  expect(await first).toEqual({ granted: true, remaining: 99 })
  for (let left = 98; left > 88; left -= 1) {
    expect(await limiter.take('a', 1, RATE)).toEqual({ granted: true, remaining: left })
  }
  expect(shared.travelling).toHaveLength(0)
  await turn()
  await turn()
  expect(shared.travelling).toHaveLength(1)
  await shared.arrive()
  const later = createOptimisticLimiter(shared, fail, { now: () => 0, rest: turn }).take(
    'a',
    1,
    RATE,
  )
  await turn()
  await shared.arrive()
  expect(await later).toEqual({ granted: true, remaining: 88 })
})

test('near the limit the shared limiter decides, and one process never grants more than a burst', async () => {
  const shared = slowLimiter(() => 0)
  const limiter = createOptimisticLimiter(shared, fail, { now: () => 0, rest: turn })
  const grants: Grant[] = []
  for (let at = 0; at < 120; at += 1) {
    const asked = limiter.take('a', 1, RATE)
    await turn()
    await shared.arrive()
    grants.push(await asked)
  }
  expect(grants.map(({ granted }) => granted)).toEqual(grants.map((_, at) => at < 100))
  expect(grants.at(-1)).toMatchObject({ granted: false, retryMs: 20, remaining: 0 })
})

test('a state older than a second is not used', async () => {
  let time = 0
  const shared = slowLimiter(() => time)
  const limiter = createOptimisticLimiter(shared, fail, { now: () => time, rest: turn })
  const first = limiter.take('a', 1, RATE)
  await turn()
  await shared.arrive()
  await first
  time += 1_001
  void limiter.take('a', 1, RATE)
  await turn()
  expect(shared.travelling).toHaveLength(1)
})

test('several processes together exceed a limit by half a burst each at most', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ by: fc.nat(2), waitMs: fc.nat(40), arrive: fc.boolean() }), {
        minLength: 200,
        maxLength: 400,
      }),
      async (calls) => {
        let time = 0
        const shared = slowLimiter(() => time)
        const processes = [0, 1, 2].map(() =>
          createOptimisticLimiter(shared, fail, { now: () => time, rest: turn }),
        )
        const asked: Promise<Grant>[] = []
        for (const { by, waitMs, arrive } of calls) {
          time += waitMs / 10
          const grant = processes[by]?.take('a', 1, RATE)
          if (grant !== undefined) asked.push(grant)
          await turn()
          if (arrive) await shared.arrive()
        }
        await shared.arrive()
        const granted = (await Promise.all(asked)).filter((grant) => grant.granted).length
        const ahead = (3 * RATE.burst) / 2
        const most = RATE.burst + (RATE.perSecond * time) / 1_000 + ahead
        expect(granted).toBeLessThanOrEqual(Math.ceil(most))
      },
    ),
    { numRuns: 20 },
  )
})
