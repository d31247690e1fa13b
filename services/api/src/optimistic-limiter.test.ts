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

/** A limiter over a shared one that records what it is asked for, and refuses some. */
function recorded(refuses: (at: number) => boolean) {
  const asked: number[] = []
  let timeMs = 0
  const take = async (_key: string, count: number): Promise<Grant> => {
    asked.push(count)
    const refused = refuses(asked.length)
    return refused
      ? { granted: false, retryMs: 1, remaining: 0 }
      : { granted: true, remaining: RATE.burst - count }
  }
  const never = new Promise<void>(() => undefined)
  const limiter = createOptimisticLimiter({ take }, fail, {
    now: () => timeMs,
    rest: () => never,
  })
  const grants = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) await limiter.take('a', 1, RATE)
  }
  return { limiter, asked, grants, pass: (ms: number) => (timeMs += ms) }
}

test('grants whose report was refused are reported with the next', async () => {
  const { limiter, asked, grants } = recorded((at) => at === 2)
  await grants(11)
  await limiter.take('a', 60, RATE)
  await limiter.take('a', 1, RATE)
  expect(asked).toEqual([1, 70, 11])
})

test('no more than half a burst is granted without a report, however much is refilled', async () => {
  const { asked, grants, pass } = recorded(() => false)
  await grants(40)
  pass(900)
  await grants(12)
  expect(asked).toEqual([1, 51])
})

test('the shared limiter is never asked for more than a burst', async () => {
  const { limiter, asked, grants } = recorded(() => false)
  await grants(11)
  await limiter.take('a', 95, RATE)
  expect(asked).toEqual([1, 100])
})

test('nothing is reported without grants', async () => {
  const shared = slowLimiter(() => 0)
  let rests = 0
  const rest = async (): Promise<void> => {
    rests += 1
    await turn()
  }
  const limiter = createOptimisticLimiter(shared, fail, { now: () => 0, rest })
  for (let at = 0; at < 3; at += 1) {
    const asked = limiter.take('a', 1, RATE)
    await turn()
    await shared.arrive()
    await asked
  }
  for (let at = 0; at < 10; at += 1) {
    await turn()
    await shared.arrive()
  }
  const before = rests
  for (let at = 0; at < 10; at += 1) await turn()
  expect([before > 0, rests]).toEqual([true, before])
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
