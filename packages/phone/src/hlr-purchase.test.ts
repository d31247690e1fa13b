import type { Memory } from '@plumbline/ports/memory'
import { expect, test } from 'vitest'
import type { HttpAnswer } from '@plumbline/net/http'
import { soakSize } from '@plumbline/testkit/soak'
import { createPhoneEngine } from './engine.ts'
import {
  ask,
  connected,
  createHlrFixture,
  engineOf,
  failed,
  FIRST,
  json,
  messente,
  MOBILE,
  SECOND,
  status,
  type HlrFixture,
} from './hlr-fixture.ts'
import type { HlrPolicy } from './policy.ts'

/** Workers that the test of duplicate purchases kills. */
const KILLS = soakSize(200, 40)

test('a number is bought once: by one batch, by two concurrent runs, and within a day', async () => {
  const fixture = createHlrFixture()
  await using first = await engineOf(fixture)
  await using second = await engineOf(fixture)
  await Promise.all([ask(first, [MOBILE, MOBILE]), ask(first, [MOBILE]), ask(second, [MOBILE])])
  const [again] = await ask(second, [MOBILE])
  expect(fixture.bought).toEqual([MOBILE])
  expect(again).toMatchObject({ reason: 'hlr_connected', cached: true })
  fixture.clock.advance(24 * 3_600_000 + 1)
  await ask(second, [MOBILE])
  expect(fixture.bought).toEqual([MOBILE, MOBILE])
})

test('a number whose query was lost is in doubt, and is not bought again', async () => {
  const fixture = createHlrFixture(() => failed('timeout', true))
  await using engine = await engineOf(fixture, [FIRST, SECOND])
  const [lost] = await ask(engine, [MOBILE])
  fixture.clock.advance(3_600_000)
  const [later] = await ask(engine, [MOBILE])
  expect([lost, later]).toMatchObject([
    { status: 'unknown', reason: 'hlr_in_doubt', facts: { valid: true, reachable: null } },
    { status: 'unknown', reason: 'hlr_in_doubt' },
  ])
  expect(fixture.bought).toEqual([MOBILE])
})

test('a server that fails before the query is sent leaves no number in doubt', async () => {
  const fixture = createHlrFixture()
  const { budget } = fixture
  let isDown = true
  const flaky: HlrFixture = {
    ...fixture,
    budget: {
      take: async (...ask) => {
        if (isDown) throw new Error('the server is down')
        return budget.take(...ask)
      },
    },
  }
  await using engine = await engineOf(flaky, [FIRST], { dailyCap: 5 })
  await expect(ask(engine, [MOBILE])).rejects.toThrow('the server is down')
  isDown = false
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  expect(fixture.bought).toEqual([MOBILE])
})

test('a cap that was taken for a purchase that could not begin is given back', async () => {
  const fixture = createHlrFixture()
  const { budget } = fixture
  let failures = 1
  const flaky: HlrFixture = {
    ...fixture,
    budget: {
      take: async (name, ...ask) => {
        if (name.includes(FIRST.name) && failures-- > 0) throw new Error('the server is down')
        return budget.take(name, ...ask)
      },
    },
  }
  await using engine = await engineOf(flaky, [FIRST], { dailyCap: 5, accountDailyCap: 1 })
  await expect(ask(engine, [MOBILE])).rejects.toThrow('the server is down')
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
})

test('a claim beside one that failed is dropped', async () => {
  const fixture = createHlrFixture(() => json(messente('ON')))
  const other = '+41791234568'
  const { memory } = fixture
  let failures = 1
  const flaky: HlrFixture = {
    ...fixture,
    memory: {
      ...memory,
      claim: async (entry) => {
        if (entry.key.includes(other) && failures-- > 0) throw new Error('the server is down')
        return await memory.claim(entry)
      },
    },
  }
  await using engine = await engineOf(flaky, [SECOND])
  await expect(ask(engine, [MOBILE, other])).rejects.toThrow('the server is down')
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
})

test(`no number is bought twice over ${KILLS} kills at random moments`, async () => {
  const numbers = Array.from({ length: KILLS }, (_, index) => `+4179${2_000_000 + index}`)
  const fixture = createHlrFixture()
  const random = seeded(7)
  for (const number of numbers) {
    await killedRun(fixture, number, Math.floor(random() * 12))
    fixture.clock.advance(60_000)
    await using survivor = await engineOf(fixture)
    const [answer] = await ask(survivor, [number])
    expect(['hlr_connected', 'hlr_in_doubt']).toContain(answer?.reason)
  }
  const counts = Map.groupBy(fixture.bought, (number) => number)
  expect(Math.max(...[...counts.values()].map((times) => times.length))).toBe(1)
})

test('a number that another worker may be buying is postponed by a batch, and in doubt once its intent has expired', async () => {
  const fixture = createHlrFixture()
  const startedMs = fixture.clock.now()
  const untilMs = startedMs + 30_000
  const value = { provider: 'hlr-lookups', atMs: startedMs, untilMs }
  await fixture.memory.claim({ key: `hlr:intent:${MOBILE}`, value, ttlMs: 3_600_000 })
  await using engine = await engineOf(fixture)
  let [answer] = await ask(engine, [MOBILE], { lane: 'bulk' })
  expect(fixture.clock.now()).toBe(startedMs)
  for (let times = 1; answer?.kind === 'later'; times++) {
    expect(answer).toMatchObject({ group: 'hlr:begun:hlr-lookups', state: { tries: times } })
    fixture.clock.advance(answer.afterMs)
    const states = answer.state === undefined ? [] : [answer.state]
    answer = (await ask(engine, [MOBILE], { lane: 'bulk', states }))[0]
  }
  expect(answer).toMatchObject({ status: 'unknown', reason: 'hlr_in_doubt' })
  expect(fixture.clock.now()).toBe(untilMs)
  expect(fixture.bought).toEqual([])
})

test('the daily cap applies until the next day', async () => {
  const fixture = createHlrFixture()
  const numbers = Array.from({ length: 9 }, (_, index) => `+4179123456${index}`)
  await using engine = await engineOf(fixture, [FIRST], { dailyCap: 5 })
  const answers = await ask(engine, numbers)
  expect(answers.filter((answer) => answer.reason === 'hlr_connected')).toHaveLength(5)
  expect(answers.filter((answer) => answer.reason === 'hlr_paused')).toHaveLength(4)
  expect(fixture.bought).toHaveLength(5)
  fixture.clock.advance(12 * 3_600_000)
  await ask(engine, numbers)
  expect(fixture.bought).toHaveLength(9)
})

test('numbers that a provider refused do not count against the cap', async () => {
  let refusals = 9
  const fixture = createHlrFixture(() => (refusals-- > 0 ? status(502) : json(connected())))
  await using engine = await engineOf(fixture, [FIRST], { dailyCap: 2 })
  for (let times = 0; times < 3; times++) {
    expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_throttled' }])
  }
  const more = await ask(engine, [MOBILE, '+41791239998', '+41791239999'])
  expect(more.map((answer) => answer.reason).toSorted()).toEqual([
    'hlr_connected',
    'hlr_connected',
    'hlr_paused',
  ])
})

test('a cap smaller than one bulk request allows that many purchases, and a cap of 0 none', async () => {
  const numbers = Array.from({ length: 8 }, (_, index) => `+4179123456${index}`)
  const fixture = createHlrFixture(() => json({ result: [] }))
  await using some = await engineOf(fixture, [SECOND], { dailyCap: 3 })
  await ask(some, numbers)
  expect(fixture.bought).toHaveLength(3)
  await using none = await engineOf(fixture, [FIRST], { dailyCap: 0 })
  expect(await ask(none, ['+41791239999'])).toMatchObject([{ reason: 'hlr_paused' }])
  expect(fixture.bought).toHaveLength(3)
})

test('requests under way and their rate stay within what the provider allows', async () => {
  const fixture = createHlrFixture()
  const numbers = Array.from({ length: 60 }, (_, index) => `+417912345${10 + index}`)
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 4, perSecond: 10 })
  const startedMs = fixture.clock.now()
  const answers = await ask(engine, numbers)
  expect(answers.every((answer) => answer.reason === 'hlr_connected')).toBe(true)
  expect(fixture.limiter.mostLeased()).toBeLessThanOrEqual(4)
  expect(fixture.clock.now() - startedMs).toBeGreaterThanOrEqual(4_900)
})

test('a batch that fills its slots leaves one to a single call', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const fixture = createHlrFixture((number) =>
    number === MOBILE ? json(connected()) : gate.promise,
  )
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 5 })
  const numbers = Array.from({ length: 8 }, (_, index) => `+4179123450${index}`)
  const batch = ask(engine, numbers, { lane: 'bulk' })
  while (fixture.bought.length < 4) await new Promise(setImmediate)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  gate.resolve(json(connected()))
  await batch
})

test('the slot of a killed worker at a provider is free within seconds, that of a slow one is kept', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const fixture = createHlrFixture((number) =>
    number === MOBILE ? gate.promise : json(connected()),
  )
  await using slow = await engineOf(fixture, [FIRST], { concurrency: 1 })
  const asking = ask(slow, [MOBILE])
  while (fixture.bought.length === 0) await new Promise(setImmediate)
  const other = ['+41791239999']
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 1, timeoutMs: 9_000 })
  // Nine seconds of waiting for the only slot.
  expect(await ask(engine, other)).toMatchObject([{ reason: 'hlr_throttled' }])
  gate.resolve(json(connected()))
  await asking

  await killedRun(fixture, '+41791239998', 5, { concurrency: 1 })
  expect(await ask(engine, other)).toMatchObject([{ reason: 'hlr_connected' }])
})

test('an aborted run answers at once, and the result of a begun purchase is still stored', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const fixture = createHlrFixture(() => gate.promise)
  await using engine = await engineOf(fixture)
  const ending = new AbortController()
  const running = ask(engine, [MOBILE], { signal: ending.signal })
  while (fixture.bought.length === 0) await new Promise(setImmediate)
  ending.abort()
  expect(await running).toMatchObject([{ status: 'unknown', reason: 'timeout' }])
  gate.resolve(json(connected()))
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  expect(fixture.bought).toEqual([MOBILE])
})

test('a purchase is counted once however many callers share it, and a refused one is not counted', async () => {
  let reply = (): HttpAnswer => json(connected())
  let isStoring = true
  const fixture = createHlrFixture(() => reply())
  const { memory } = fixture
  const set: Memory['set'] = async (entries) => {
    if (!isStoring) throw new Error('the server is down')
    await memory.set(entries)
  }
  const counted: string[] = []
  const options = {
    ...fixture,
    memory: { ...memory, set },
    providers: [FIRST],
    onPurchase: (provider: string, count: number) => counted.push(`${provider} ${count}`),
    log: { warn: () => undefined },
  }
  await using first = await createPhoneEngine(options)
  await using second = await createPhoneEngine(options)
  const asked = [ask(first, [MOBILE, MOBILE]), ask(first, [MOBILE]), ask(second, [MOBILE])]
  const shared = (await Promise.all(asked)).flat()
  expect(shared.map((answer) => answer.reason)).toEqual(Array(4).fill('hlr_connected'))
  await ask(second, [MOBILE])
  expect(counted.splice(0)).toEqual(['hlr-lookups 1'])
  reply = () => status(404)
  await ask(first, ['+41791239997'])
  expect(counted).toEqual([])
  reply = () => failed('timeout', true)
  await ask(first, ['+41791239998'])
  expect(counted.splice(0), 'in doubt').toEqual(['hlr-lookups 1'])
  reply = () => json(connected())
  isStoring = false
  await expect(ask(first, ['+41791239999'])).rejects.toThrow('the server is down')
  expect(counted, 'not stored').toEqual(['hlr-lookups 1'])
})

/**
 * A run of a worker that is killed after a number of operations on its memory: its promises never
 * settle.
 */
async function killedRun(
  fixture: HlrFixture,
  number: string,
  steps: number,
  policy: Partial<HlrPolicy> = {},
): Promise<void> {
  const killed = Promise.withResolvers<void>()
  let left = steps
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (left-- <= 0) {
      killed.resolve()
      return new Promise<T>(() => undefined)
    }
    return work()
  }
  const { clock, memory, fetch } = fixture
  const mortal: Memory = {
    get: (keys) => step(() => memory.get(keys)),
    set: (entries) => step(() => memory.set(entries)),
    claim: (entry) => step(() => memory.claim(entry)),
    delete: (keys) => step(() => memory.delete(keys)),
  }
  const engine = await createPhoneEngine({
    ...fixture,
    clock: { ...clock, every: (ms, work) => clock.every(ms, () => left > 0 && work()) },
    memory: mortal,
    policy,
    fetch: (request) => step(() => fetch(request)),
    providers: [FIRST],
    log: { warn: () => undefined },
  })
  await Promise.race([ask(engine, [number]), killed.promise])
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

test('a single call does not wait for a batch that has not come to its number yet', async () => {
  const numbers = Array.from({ length: 40 }, (_, at) => `+4179123${4000 + at}`)
  const last = numbers.at(-1) ?? ''
  const gate = Promise.withResolvers<void>()
  const fixture = createHlrFixture(async (number) => {
    if (number !== last) await gate.promise
    return json(connected())
  })
  const policy = { concurrency: 5, perSecond: 1_000, timeoutMs: 86_400_000 }
  await using engine = await engineOf(fixture, [FIRST], policy)
  const batch = ask(engine, numbers, { lane: 'bulk', account: 'busy' })
  while (fixture.bought.length < 4) await new Promise(setImmediate)
  const call = ask(engine, [last])
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  const isBought = fixture.bought.includes(last)
  gate.resolve()
  expect(isBought).toBe(true)
  expect(await call).toMatchObject([{ reason: 'hlr_connected' }])
  expect((await batch).every((answer) => answer.kind === 'outcome')).toBe(true)
  expect(fixture.bought.toSorted()).toEqual(numbers)
})
