import type { Limiter } from '@plumbline/ports/engine'
import type { Json } from '@plumbline/contract/outcome'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SILENT, createOpenLimiter } from './engine-fixture.ts'
import { createManners } from './registry-rate-limiter.ts'
import type { Manners, MannersOptions, Turn, Turned } from './registry-rate-limiter.ts'
import type { Mood } from './registry-server.ts'

const FINE: Mood = { kind: 'fine' }
const NEVER = new AbortController().signal

/** Manners whose clock is a number, and which remember in a map that others can share. */
function polite(
  more: Partial<MannersOptions> = {},
  held = new Map<string, Json>(),
): { manners: Manners; clock: { now: number }; held: Map<string, Json> } {
  const clock = { now: 1_000_000 }
  const manners = createManners({
    limiter: createOpenLimiter(),
    memory: {
      get: async (keys) => keys.map((key) => held.get(key)),
      async set(entries) {
        for (const { key, value } of entries) held.set(key, value)
      },
      claim: async () => true,
      delete: async () => undefined,
    },
    perSecond: 1_000,
    now: () => clock.now,
    log: SILENT,
    ...more,
  })
  return { manners, clock, held }
}

function take(
  manners: Manners,
  mood: Mood = FINE,
  turn: Partial<Turn> = {},
): Promise<Turned<string>> {
  const full: Turn = { lane: 'bulk', signal: NEVER, ...turn }
  return manners.take('rdap:a.test', full, async () => ({ value: 'asked', mood }))
}

test('a server that asks for peace is left alone for as long as it says, by every worker', async () => {
  const first = polite()
  expect(await take(first.manners, { kind: 'throttled', retryMs: 7_000 })).toMatchObject({
    kind: 'done',
  })
  expect(await take(first.manners)).toEqual({ kind: 'paused', why: 'throttled', retryMs: 7_000 })
  expect(first.manners.paused()).toEqual([{ server: 'rdap:a.test', retryMs: 7_000 }])
  const second = polite({}, first.held)
  expect(await take(second.manners)).toMatchObject({ kind: 'paused', retryMs: 7_000 })
  first.clock.now += 7_001
  expect(await take(first.manners)).toEqual({ kind: 'done', value: 'asked' })
})

test('each refusal without a time doubles the pause, up to an hour', async () => {
  const { manners, clock } = polite()
  const pauses: number[] = []
  for (let round = 0; round < 9; round++) {
    await take(manners, { kind: 'throttled', retryMs: null })
    const turned = await take(manners)
    const ms = turned.kind === 'paused' ? turned.retryMs : 0
    pauses.push(ms / 1_000)
    clock.now += ms + 2_000
  }
  expect(pauses).toEqual([60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
})

test('a server that is silent five times in a row is down for a while; one answer clears it', async () => {
  const { manners } = polite()
  const silent: Mood = { kind: 'silent' }
  for (let round = 0; round < 4; round++) await take(manners, silent)
  await take(manners)
  for (let round = 0; round < 5; round++) expect((await take(manners, silent)).kind).toBe('done')
  expect(await take(manners)).toEqual({ kind: 'paused', why: 'silent', retryMs: 30_000 })
})

test('one refusal may be for its name; three in a row are for the asker', async () => {
  const { manners } = polite()
  const refused: Mood = { kind: 'refused' }
  for (let round = 0; round < 2; round++) await take(manners, refused)
  await take(manners)
  for (let round = 0; round < 3; round++) expect((await take(manners, refused)).kind).toBe('done')
  expect(await take(manners)).toEqual({ kind: 'paused', why: 'throttled', retryMs: 60_000 })
})

test('a server that askers gave up on before they heard it out is not down', async () => {
  const { manners, clock } = polite()
  const giveUpAfter = (ms: number): Promise<Turned<string>> => {
    const asker = new AbortController()
    return manners.take('rdap:a.test', { lane: 'live', signal: asker.signal }, async () => {
      clock.now += ms
      asker.abort()
      return { value: 'asked', mood: { kind: 'silent' } }
    })
  }
  for (let round = 0; round < 6; round++) await giveUpAfter(500)
  expect(await take(manners)).toEqual({ kind: 'done', value: 'asked' })
  for (let round = 0; round < 5; round++) await giveUpAfter(3_000)
  expect(await take(manners)).toMatchObject({ kind: 'paused', why: 'silent' })
})

test('live goes before bulk, and no more are asked at once than allowed', async () => {
  const { manners } = polite({ concurrency: 1 })
  const order: string[] = []
  let open = 0
  let most = 0
  const ask = (name: string, lane: Turn['lane']): Promise<Turned<null>> =>
    manners.take('whois:b.test', { lane, signal: NEVER }, async () => {
      most = Math.max(most, ++open)
      await new Promise(setImmediate)
      order.push(name)
      open--
      return { value: null, mood: FINE }
    })
  const bulk = ['1', '2', '3', '4'].map((name) => ask(name, 'bulk'))
  await Promise.all([...bulk, ask('live', 'live')])
  expect(order.indexOf('live')).toBeLessThan(2)
  expect(most).toBe(1)
})

test('a single call that can still hear its answer goes before one that waited too long', async () => {
  let isOpen = false
  const shut: Limiter = {
    take: async () => (isOpen ? { granted: true } : { granted: false, retryMs: 5 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { manners, clock } = polite({ limiter: shut, concurrency: 1 })
  const order: string[] = []
  const ask = (name: string): Promise<Turned<null>> =>
    manners.take('rdap:a.test', { lane: 'live', signal: NEVER }, async () => {
      order.push(name)
      return { value: null, mood: FINE }
    })
  const asked = [ask('oldest'), ask('old')]
  clock.now += 7_000
  asked.push(ask('first'))
  clock.now += 1_000
  asked.push(ask('second'))
  isOpen = true
  await Promise.all(asked)
  expect(order).toEqual(['first', 'second', 'oldest', 'old'])
})

test('one who goes away is neither asked for nor waited for', async () => {
  const controller = new AbortController()
  const closed: Limiter = {
    take: async () => ({ granted: false, retryMs: 20 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { manners } = polite({ limiter: closed })
  const turned = take(manners, FINE, { signal: controller.signal })
  controller.abort()
  expect(await turned).toEqual({ kind: 'aborted' })
})

test('a fault in asking reaches the asker, and the next is served', async () => {
  const { manners } = polite()
  const failing = manners.take('rdap:a.test', { lane: 'live', signal: NEVER }, () =>
    Promise.reject(new Error('a bug')),
  )
  await expect(failing).rejects.toThrow('a bug')
  expect(await take(manners)).toMatchObject({ kind: 'done' })
})

test('limits out of reach ask nobody, and go on when they are back', async () => {
  let tries = 0
  const open = createOpenLimiter()
  const flaky: Limiter = {
    ...open,
    lease: (...args) =>
      ++tries === 1 ? Promise.reject(new Error('connection lost')) : open.lease(...args),
  }
  const { manners } = polite({ limiter: flaky })
  expect(await take(manners)).toMatchObject({ kind: 'done' })
  expect(tries).toBe(3)
})

/** Limits of one place that several workers share, by the test's clock. */
function createSharedLimiter(): Limiter {
  const full = new Map<string, number>()
  const held = new Map<string, Set<symbol>>()
  return {
    async take(key, count, { perSecond, burst }) {
      const interval = 1_000 / perSecond
      const after = Math.max(Date.now(), full.get(key) ?? 0) + count * interval
      const late = after - Date.now() - burst * interval
      if (late > 0) return { granted: false, retryMs: Math.ceil(late) }
      full.set(key, after)
      return { granted: true }
    },
    async lease(key, limit) {
      const holders = held.get(key) ?? new Set()
      if (holders.size >= limit) return { granted: false, retryMs: 15_000 }
      const holder = Symbol(key)
      held.set(key, holders.add(holder))
      return {
        granted: true,
        renew: async () => true,
        release: async () => void holders.delete(holder),
      }
    },
  }
}

/** What a server counts that hears a question at any moment of its time. */
function createServer(delayMs: () => number): {
  readonly times: number[]
  ask(): Promise<{ value: null; mood: Mood }>
} {
  const times: number[] = []
  const random = createRandom(7)
  return {
    times,
    ask: () =>
      new Promise((resolve) => {
        const wholeMs = delayMs()
        setTimeout(() => times.push(Date.now()), wholeMs * random())
        setTimeout(() => resolve({ value: null, mood: FINE }), wholeMs)
      }),
  }
}

function createRandom(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

function mostWithin(times: readonly number[], windowMs: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  const counts = sorted.map((start) => sorted.filter((t) => t >= start && t - start < windowMs))
  return Math.max(...counts.map((window) => window.length))
}

test.each([
  { what: 'one worker, answers in 80 ms', workers: 1, perSecond: 5, delayMs: () => 80, least: 0.9 },
  {
    what: 'three workers, answers in up to a second',
    workers: 3,
    perSecond: 5,
    delayMs: createRandomDelay(1_000),
    least: 0.3,
  },
  { what: 'a question in two seconds', workers: 2, perSecond: 0.5, delayMs: () => 80, least: 0.9 },
])(
  'no second of the server holds more than it allows, wherever it counts: $what',
  async ({ workers, perSecond, delayMs, least }) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const server = createServer(delayMs)
    const shared = { limiter: createSharedLimiter(), perSecond, holdMs: 1_000_000 }
    const questions = 60
    const turns = Array.from({ length: workers }, () => polite(shared).manners).flatMap((manners) =>
      Array.from({ length: questions / workers }, () =>
        manners.take('rdap:a.test', { lane: 'bulk', signal: NEVER }, server.ask),
      ),
    )
    await vi.advanceTimersByTimeAsync((questions / perSecond / least) * 1_000)
    expect(server.times).toHaveLength(questions)
    expect(await Promise.all(turns)).toHaveLength(questions)
    expect(mostWithin(server.times, 1_000 / Math.min(1, perSecond))).toBeLessThanOrEqual(
      Math.max(1, perSecond),
    )
  },
)

function createRandomDelay(mostMs: number): () => number {
  const random = createRandom(11)
  return () => mostMs * random()
}
