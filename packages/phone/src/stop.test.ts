import { expect, test } from 'vitest'
import type { HttpAnswer } from '@plumbline/net/http'
import type { Limiter } from '@plumbline/ports/limiter'
import {
  ask,
  connected,
  createHlrFixture,
  engineOf,
  FIRST,
  json,
  MOBILE,
  SECOND,
  status,
  type HlrFixture,
} from './hlr-fixture.ts'

const NUMBERS = Array.from({ length: 40 }, (_, at) => `+4179123${4000 + at}`)

/** Providers that reply only once `reply` is called. */
function createHeldProviders(): HlrFixture & { reply(): void } {
  const gate = Promise.withResolvers<HttpAnswer>()
  return { ...createHlrFixture(() => gate.promise), reply: () => gate.resolve(json(connected())) }
}

async function untilBuying(fixture: HlrFixture, count: number): Promise<void> {
  while (fixture.bought.length < count) await new Promise(setImmediate)
}

test.each([[FIRST], [SECOND]])(
  'a drained batch awaits purchases in flight at $name and buys nothing more',
  async (provider) => {
    const fixture = createHeldProviders()
    await using engine = await engineOf(fixture, [provider], { concurrency: 5, perSecond: 1_000 })
    const drain = new AbortController()
    const running = ask(engine, NUMBERS, { lane: 'bulk', drain: drain.signal })
    await untilBuying(fixture, 4)
    drain.abort()
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    const begun = [...fixture.bought]
    fixture.reply()
    const answers = await running
    expect(fixture.bought).toEqual(begun)
    for (const [at, answer] of answers.entries()) {
      const isBegun = begun.includes(NUMBERS[at] ?? '')
      expect(answer.kind).toBe(isBegun ? 'outcome' : 'later')
    }
    const more = await ask(engine, NUMBERS.slice(-1))
    expect(more).toMatchObject([{ kind: 'outcome' }])
  },
)

test('a drained batch gets results bought before and purchases in flight, and buys nothing', async () => {
  const fixture = createHeldProviders()
  const [first = '', second = '', third = ''] = NUMBERS
  await using early = await engineOf(withInstantReplies(fixture), [FIRST])
  await ask(early, [first])
  expect(fixture.bought).toEqual([first])
  await using buying = await engineOf(fixture, [FIRST])
  const running = ask(buying, [second])
  await untilBuying(fixture, 2)
  await using other = await engineOf(fixture, [FIRST])
  const look = ask(other, [first, second, third], { lane: 'bulk', drain: AbortSignal.abort() })
  fixture.reply()
  await running
  expect(await look).toMatchObject([
    { reason: 'hlr_connected', cached: true },
    { reason: 'hlr_connected', cached: true },
    { kind: 'later' },
  ])
  expect(fixture.bought).toEqual([first, second])
})

/** The same providers and stores, with replies that come at once. */
function withInstantReplies(fixture: HlrFixture): HlrFixture {
  return {
    ...fixture,
    fetch: async ({ body }) => {
      fixture.bought.push(...(String(body).match(/\+\d+/g) ?? []))
      return json(connected())
    },
  }
}

test('a number that a drained batch did not buy is bought by another batch that waits for it', async () => {
  const fixture = createHeldProviders()
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 2 })
  const drain = new AbortController()
  const canceled = ask(engine, NUMBERS, { lane: 'bulk', drain: drain.signal })
  await untilBuying(fixture, 1)
  const last = NUMBERS.at(-1) ?? ''
  const other = ask(engine, [last], { lane: 'bulk', account: 'another' })
  drain.abort()
  fixture.reply()
  expect(await other).toMatchObject([{ reason: 'hlr_connected' }])
  expect((await canceled).at(-1)?.kind).toBe('later')
  expect(fixture.bought.filter((number) => number === last)).toHaveLength(1)
})

test('a run without a waiting caller completes its purchases in flight and buys nothing else', async () => {
  const fixture = createHeldProviders()
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 5 })
  const ending = new AbortController()
  const running = ask(engine, NUMBERS, { signal: ending.signal })
  await untilBuying(fixture, 5)
  ending.abort()
  const answers = await running
  expect(answers.every((answer) => answer.reason === 'timeout')).toBe(true)
  fixture.reply()
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  expect(fixture.bought).toHaveLength(6)
})

test.each<[string, Partial<Limiter>]>([
  ['that may be sent now', { take: async () => ({ granted: true }) }],
  ['that would have to wait', { take: async () => ({ granted: false, retryMs: 1_000 }) }],
  ['that would wait for a slot', { lease: async () => ({ granted: false, retryMs: 1_000 }) }],
])('a batch that is drained before a request %s buys nothing', async (_, says) => {
  const fixture = createHlrFixture()
  const drain = new AbortController()
  let asked = 0
  const draining = <A extends readonly unknown[], R>(
    own: (...given: A) => Promise<R>,
    answer: ((...given: A) => Promise<R>) | undefined,
  ): ((...given: A) => Promise<R>) => {
    if (answer === undefined) return own
    return async (...given) => {
      asked += 1
      drain.abort()
      await new Promise(setImmediate)
      return await answer(...given)
    }
  }
  const { limiter: own } = fixture
  const limiter = {
    ...own,
    lease: draining(own.lease, says.lease),
    take: draining(own.take, says.take),
  }
  await using engine = await engineOf({ ...fixture, limiter }, [FIRST])
  expect(await ask(engine, [MOBILE], { lane: 'bulk', drain: drain.signal })).toMatchObject([
    { kind: 'later' },
  ])
  expect([asked, fixture.bought]).toEqual([1, []])
})

test('a refusal after the cancel is no answer if another provider was to be asked', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const fixture = createHlrFixture((_, name) => (name === 'messente' ? json({}) : gate.promise))
  await using engine = await engineOf(fixture, [FIRST, SECOND])
  const drain = new AbortController()
  const running = ask(engine, [MOBILE], { lane: 'bulk', drain: drain.signal })
  await untilBuying(fixture, 1)
  drain.abort()
  gate.resolve(status(400))
  expect(await running).toMatchObject([{ kind: 'later' }])
  expect(fixture.bought).toEqual([MOBILE])
})

test('an account buys as much as its own daily cap allows from all providers, and others can buy the rest', async () => {
  const fixture = createHlrFixture()
  await using engine = await engineOf(fixture, [FIRST, SECOND], {
    dailyCap: 10,
    accountDailyCap: 4,
  })
  const reasons = async (account: string, from: number, to: number): Promise<number> => {
    const answers = await ask(engine, NUMBERS.slice(from, to), { account })
    const paused = answers.filter((answer) => answer.reason === 'hlr_paused')
    expect(paused.length + answers.filter(({ kind }) => kind === 'outcome').length).toBeGreaterThan(
      0,
    )
    return answers.length - paused.length
  }
  expect(await reasons('a', 0, 3)).toBe(3)
  expect(await reasons('a', 3, 9)).toBe(1)
  expect(await reasons('b', 10, 19)).toBe(4)
  // Results that were bought are available to every account.
  expect(await reasons('a', 0, 4)).toBe(4)
  expect(fixture.bought).toHaveLength(8)
  fixture.clock.advance(12 * 3_600_000)
  expect(await reasons('a', 20, 29)).toBe(4)
})

test("numbers stopped by the provider's cap or a refusal do not count against the account", async () => {
  let refusals = 3
  const fixture = createHlrFixture(() => (refusals-- > 0 ? status(502) : json(connected())))
  await using engine = await engineOf(fixture, [FIRST], { dailyCap: 2, accountDailyCap: 3 })
  expect(await ask(engine, NUMBERS.slice(0, 1))).toMatchObject([{ reason: 'hlr_throttled' }])
  const answers = await ask(engine, NUMBERS.slice(0, 3))
  expect(answers.filter(({ reason }) => reason === 'hlr_connected')).toHaveLength(2)
  expect((await fixture.budget.take('hlr:account:t', 10, 3)).count).toBe(1)
})
