import type { Limiter } from '@plumbline/ports/limiter'
import type { Json } from '@plumbline/contract/outcome'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SILENT, createOpenLimiter } from './engine-fixture.ts'
import { createRegistryRateLimiter } from './registry-rate-limiter.ts'
import type {
  RegistryRateLimiter,
  RegistryRateLimiterOptions,
  RegistryCaller,
  RateLimited,
} from './registry-rate-limiter.ts'
import type { QueryResult } from './registry-server.ts'

const ANSWERED: QueryResult = { kind: 'answered' }
const NEVER = new AbortController().signal

/** A rate limiter whose clock is a number and whose memory is a map that several can share. */
function openLimiter(
  more: Partial<RegistryRateLimiterOptions> = {},
  held = new Map<string, Json>(),
): { rateLimiter: RegistryRateLimiter; clock: { now: number }; held: Map<string, Json> } {
  const clock = { now: 1_000_000 }
  const rateLimiter = createRegistryRateLimiter({
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
  return { rateLimiter, clock, held }
}

function take(
  rateLimiter: RegistryRateLimiter,
  result: QueryResult = ANSWERED,
  caller: Partial<RegistryCaller> = {},
): Promise<RateLimited<string>> {
  const full: RegistryCaller = { lane: 'bulk', account: 'one', signal: NEVER, ...caller }
  return rateLimiter.run('rdap:a.test', full, async () => ({ value: 'asked', result }))
}

test('every worker pauses a throttling server for as long as it asks', async () => {
  const first = openLimiter()
  expect(await take(first.rateLimiter, { kind: 'throttled', retryMs: 7_000 })).toMatchObject({
    kind: 'done',
  })
  expect(await take(first.rateLimiter)).toEqual({
    kind: 'paused',
    why: 'throttled',
    retryMs: 7_000,
  })
  expect(first.rateLimiter.paused()).toEqual([{ server: 'rdap:a.test', retryMs: 7_000 }])
  const second = openLimiter({}, first.held)
  expect(await take(second.rateLimiter)).toMatchObject({ kind: 'paused', retryMs: 7_000 })
  first.clock.now += 7_001
  expect(await take(first.rateLimiter)).toEqual({ kind: 'done', value: 'asked' })
})

test('no server is paused longer than servers are, though the clock is set back', async () => {
  const { rateLimiter, clock, held } = openLimiter()
  await take(rateLimiter, { kind: 'throttled', retryMs: 7_000 })
  expect(await take(rateLimiter)).toMatchObject({ kind: 'paused' })
  clock.now -= 24 * 3_600_000
  expect(await take(rateLimiter)).toEqual({ kind: 'done', value: 'asked' })
  expect(rateLimiter.paused()).toEqual([])
  held.set('domain:pause:rdap:a.test', { until: clock.now + 5_000, why: 'throttled' })
  clock.now += 1_000
  expect(await take(rateLimiter)).toMatchObject({ kind: 'paused', retryMs: 4_000 })
})

test('the longest pause holds in a worker whose clock is behind', async () => {
  const first = openLimiter()
  await take(first.rateLimiter, { kind: 'throttled', retryMs: 86_400_000 })
  const second = openLimiter({}, first.held)
  second.clock.now -= 10_000
  expect(await take(second.rateLimiter)).toMatchObject({ kind: 'paused', retryMs: 3_610_000 })
})

test('each refusal without a time doubles the pause, up to an hour', async () => {
  const { rateLimiter, clock } = openLimiter()
  const pauses: number[] = []
  for (let round = 0; round < 9; round++) {
    await take(rateLimiter, { kind: 'throttled', retryMs: null })
    const limited = await take(rateLimiter)
    const ms = limited.kind === 'paused' ? limited.retryMs : 0
    pauses.push(ms / 1_000)
    clock.now += ms + 2_000
  }
  expect(pauses).toEqual([60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
})

test('refusals of queries that were in flight together are one, and the longest pause asked for holds', async () => {
  const first = openLimiter()
  const second = openLimiter({}, first.held)
  const limiters = [first.rateLimiter, first.rateLimiter, second.rateLimiter] as const
  const pausesAfter = async (retries: readonly (number | null)[]): Promise<unknown> => {
    const begun = limiters.map(() => Promise.withResolvers<void>())
    const go = limiters.map(() => Promise.withResolvers<void>())
    const runs = limiters.map((rateLimiter, index) =>
      rateLimiter.run('rdap:a.test', { lane: 'live', account: 'one', signal: NEVER }, async () => {
        begun[index]?.resolve()
        await go[index]?.promise
        const result = { kind: 'throttled', retryMs: retries[index] ?? null } as const
        return { value: 'asked', result }
      }),
    )
    await Promise.all(begun.map(({ promise }) => promise))
    for (const [index, { resolve }] of go.entries()) {
      resolve()
      await runs[index]
    }
    const limited = [await take(first.rateLimiter), await take(second.rateLimiter)]
    return limited.map((each) => (each.kind === 'paused' ? each.retryMs : each.kind))
  }
  const sleep = (ms: number): void => {
    for (const { clock } of [first, second]) clock.now += ms
  }
  expect(await pausesAfter([null, null, null])).toEqual([60_000, 60_000])
  sleep(60_001)
  expect(await pausesAfter([null, null, null])).toEqual([120_000, 120_000])
  sleep(120_001)
  expect(await pausesAfter([600_000, null, 5_000])).toEqual([600_000, 600_000])
})

test('a server that is silent five times in a row is down for a while; one answer clears it', async () => {
  const { rateLimiter } = openLimiter()
  const silent: QueryResult = { kind: 'silent' }
  for (let round = 0; round < 4; round++) await take(rateLimiter, silent)
  await take(rateLimiter)
  for (let round = 0; round < 5; round++)
    expect((await take(rateLimiter, silent)).kind).toBe('done')
  expect(await take(rateLimiter)).toEqual({ kind: 'paused', why: 'silent', retryMs: 30_000 })
})

test('refusals of one name may concern that name; those of three in a row concern the rate', async () => {
  const { rateLimiter } = openLimiter()
  const refused = (name: string): QueryResult => ({ kind: 'refused', name })
  for (let round = 0; round < 9; round++) {
    expect((await take(rateLimiter, refused('a.test'))).kind).toBe('done')
  }
  await take(rateLimiter, refused('b.test'))
  await take(rateLimiter)
  for (const name of ['a.test', 'b.test', 'b.test', 'c.test']) {
    expect((await take(rateLimiter, refused(name))).kind).toBe('done')
  }
  expect(await take(rateLimiter)).toEqual({ kind: 'paused', why: 'throttled', retryMs: 60_000 })
})

test('a server does not count as down if callers gave up too soon', async () => {
  const { rateLimiter, clock } = openLimiter()
  const giveUpAfter = (ms: number): Promise<RateLimited<string>> => {
    const asker = new AbortController()
    return rateLimiter.run(
      'rdap:a.test',
      { lane: 'live', account: 'one', signal: asker.signal },
      async () => {
        clock.now += ms
        asker.abort()
        return { value: 'asked', result: { kind: 'silent' } }
      },
    )
  }
  for (let round = 0; round < 6; round++) await giveUpAfter(500)
  expect(await take(rateLimiter)).toEqual({ kind: 'done', value: 'asked' })
  for (let round = 0; round < 5; round++) await giveUpAfter(3_000)
  expect(await take(rateLimiter)).toMatchObject({ kind: 'paused', why: 'silent' })
})

test('live queries precede bulk ones, and no more are concurrent than allowed', async () => {
  const { rateLimiter } = openLimiter({ concurrency: 1 })
  const order: string[] = []
  let open = 0
  let most = 0
  const ask = (name: string, lane: RegistryCaller['lane']): Promise<RateLimited<null>> =>
    rateLimiter.run('whois:b.test', { lane, account: 'one', signal: NEVER }, async () => {
      most = Math.max(most, ++open)
      await new Promise(setImmediate)
      order.push(name)
      open--
      return { value: null, result: ANSWERED }
    })
  const bulk = ['1', '2', '3', '4'].map((name) => ask(name, 'bulk'))
  await Promise.all([...bulk, ask('live', 'live')])
  expect(order.indexOf('live')).toBeLessThan(2)
  expect(most).toBe(1)
})

test('a single call with time left for a reply precedes one that has waited too long', async () => {
  let isOpen = false
  const shut: Limiter = {
    take: async () => (isOpen ? { granted: true } : { granted: false, retryMs: 5 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { rateLimiter, clock } = openLimiter({ limiter: shut, concurrency: 1 })
  const order: string[] = []
  const ask = (name: string): Promise<RateLimited<null>> =>
    rateLimiter.run('rdap:a.test', { lane: 'live', account: 'one', signal: NEVER }, async () => {
      order.push(name)
      return { value: null, result: ANSWERED }
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

test('single calls of one account, however many, precede none that another makes before their turn', async () => {
  let isOpen = false
  const shut: Limiter = {
    take: async () => (isOpen ? { granted: true } : { granted: false, retryMs: 5 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { rateLimiter, clock } = openLimiter({ limiter: shut, concurrency: 1 })
  const order: string[] = []
  const ask = (account: string): Promise<RateLimited<null>> =>
    rateLimiter.run('rdap:a.test', { lane: 'live', account, signal: NEVER }, async () => {
      order.push(account)
      return { value: null, result: ANSWERED }
    })
  const asked = Array.from({ length: 20 }, () => ask('busy'))
  clock.now += 7_000
  asked.push(ask('other'), ask('other'), ask('third'))
  isOpen = true
  await Promise.all(asked)
  expect(order.slice(0, 5)).toEqual(['busy', 'other', 'third', 'busy', 'other'])
})

test('an account whose calls gave up waiting has its next turn no later than others', async () => {
  let isOpen = false
  const shut: Limiter = {
    take: async () => (isOpen ? { granted: true } : { granted: false, retryMs: 5 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { rateLimiter } = openLimiter({ limiter: shut, concurrency: 1 })
  const order: string[] = []
  const ask = (account: string, signal = NEVER): Promise<RateLimited<null>> =>
    rateLimiter.run('rdap:a.test', { lane: 'live', account, signal }, async () => {
      order.push(account)
      return { value: null, result: ANSWERED }
    })
  const patience = new AbortController()
  const given = Array.from({ length: 20 }, () => ask('hasty', patience.signal))
  const asked = [ask('steady'), ask('steady'), ask('steady'), ask('steady')]
  patience.abort()
  asked.push(ask('hasty'))
  isOpen = true
  await Promise.all([...given, ...asked])
  expect(order.indexOf('hasty')).toBeLessThanOrEqual(1)
})

test('the query of an aborted caller is not sent, and nothing waits for it', async () => {
  const controller = new AbortController()
  const closed: Limiter = {
    take: async () => ({ granted: false, retryMs: 20 }),
    lease: (...args) => createOpenLimiter().lease(...args),
  }
  const { rateLimiter } = openLimiter({ limiter: closed })
  const limited = take(rateLimiter, ANSWERED, { signal: controller.signal })
  controller.abort()
  expect(await limited).toEqual({ kind: 'aborted' })
})

test('an error of a query reaches its caller, and the next query runs', async () => {
  const { rateLimiter } = openLimiter()
  const failing = rateLimiter.run(
    'rdap:a.test',
    { lane: 'live', account: 'one', signal: NEVER },
    () => Promise.reject(new Error('a bug')),
  )
  await expect(failing).rejects.toThrow('a bug')
  expect(await take(rateLimiter)).toMatchObject({ kind: 'done' })
})

test('while the shared limits are unreachable nothing is sent, and queries continue afterwards', async () => {
  let tries = 0
  const open = createOpenLimiter()
  const flaky: Limiter = {
    ...open,
    lease: (...args) =>
      ++tries === 1 ? Promise.reject(new Error('connection lost')) : open.lease(...args),
  }
  const { rateLimiter } = openLimiter({ limiter: flaky })
  expect(await take(rateLimiter)).toMatchObject({ kind: 'done' })
  // Two leases for each try.
  expect(tries).toBe(4)
})

/** A limiter that several workers share, by the test's clock. */
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

/** A server that records when queries arrive: at a random moment between sending and reply. */
function createServer(delayMs: () => number): {
  readonly times: number[]
  ask(): Promise<{ value: null; result: QueryResult }>
} {
  const times: number[] = []
  const random = createRandom(7)
  return {
    times,
    ask: () =>
      new Promise((resolve) => {
        const wholeMs = delayMs()
        setTimeout(() => times.push(Date.now()), wholeMs * random())
        setTimeout(() => resolve({ value: null, result: ANSWERED }), wholeMs)
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
  'a server receives no more queries in any second than it allows: $what',
  async ({ workers, perSecond, delayMs, least }) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const server = createServer(delayMs)
    const shared = { limiter: createSharedLimiter(), perSecond, holdMs: 1_000_000 }
    const questions = 60
    const turns = Array.from({ length: workers }, () => openLimiter(shared).rateLimiter).flatMap(
      (rateLimiter) =>
        Array.from({ length: questions / workers }, () =>
          rateLimiter.run(
            'rdap:a.test',
            { lane: 'bulk', account: 'one', signal: NEVER },
            server.ask,
          ),
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
