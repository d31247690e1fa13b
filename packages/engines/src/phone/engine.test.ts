import type { Engine, EngineRequest, Memory } from '@plumbline/contract/engine'
import type { Answer } from '@plumbline/contract/outcome'
import { expect, test } from 'vitest'
import type { HttpAnswer } from '../net/http.ts'
import type { HlrPolicy, HlrProviderSettings } from './buyer.ts'
import { createPhoneEngine } from './engine.ts'
import type { HlrFetch } from './hlr/provider.ts'
import {
  createTestClock,
  createTestLimiter,
  createTestMemory,
  type TestClock,
} from './shared-fixture.ts'

const FIRST: HlrProviderSettings = { name: 'hlr-lookups', url: null, key: 'k', secret: 's' }
const SECOND: HlrProviderSettings = { name: 'messente', url: null, key: 'k', secret: 's' }
const MOBILE = '+41791234567'

type Reply = (
  number: string,
  provider: 'hlr-lookups' | 'messente',
) => HttpAnswer | Promise<HttpAnswer>

interface World {
  readonly clock: TestClock
  readonly memory: Memory
  readonly limiter: ReturnType<typeof createTestLimiter>
  readonly bought: string[]
  readonly fetch: HlrFetch
}

function createWorld(reply: Reply = () => json(connected())): World {
  const clock = createTestClock()
  const bought: string[] = []
  const fetch: HlrFetch = async ({ url, body }) => {
    await new Promise(setImmediate)
    const numbers = String(body).match(/\+\d+/g) ?? []
    bought.push(...numbers)
    const [number = ''] = numbers
    return reply(number, url.includes('messente') ? 'messente' : 'hlr-lookups')
  }
  return {
    clock,
    memory: createTestMemory(clock),
    limiter: createTestLimiter(clock),
    bought,
    fetch,
  }
}

async function engineOf(
  world: World,
  providers: readonly HlrProviderSettings[] = [FIRST],
  policy: Partial<HlrPolicy> = {},
): Promise<Engine<'phone'>> {
  return createPhoneEngine({ ...world, providers, policy, log: { warn: () => undefined } })
}

function ask(
  engine: Engine<'phone'>,
  subjects: readonly string[],
  more: Partial<EngineRequest<'phone'>> = {},
): Promise<readonly Answer<'phone'>[]> {
  return engine.run({
    subjects,
    depth: 'basic',
    lane: 'live',
    tenant: 't',
    signal: new AbortController().signal,
    ...more,
  })
}

test('without a provider the numbering plan answers, and the network is unknown', async () => {
  const world = createWorld()
  await using engine = await engineOf(world, [])
  const [answer] = await ask(engine, [MOBILE])
  expect(answer).toMatchObject({
    status: 'answered',
    reason: 'no_hlr_provider',
    facts: {
      number: MOBILE,
      valid: true,
      reachable: null,
      country: 'Switzerland',
      countryCode: 'CH',
      nationalFormat: '079 123 45 67',
      lineType: 'mobile',
      carrier: 'Swisscom',
      carrierCountry: 'Switzerland',
      ported: null,
      roaming: null,
    },
    evidence: { carrier_source: 'prefix', timezones: ['Europe/Zurich'] },
  })
  expect(await engine.health()).toMatchObject([{ status: 'off' }])
})

test('numbers that have no place in an HLR are never sent out', async () => {
  const world = createWorld()
  await using engine = await engineOf(world)
  const answers = await ask(engine, [
    '+4312',
    '+447700900123',
    '+41443643532',
    '+41800123456',
    '+12015550123',
  ])
  expect(answers.map((answer) => answer.reason)).toEqual([
    'impossible_number',
    'invalid_number',
    'hlr_not_applicable',
    'hlr_not_applicable',
    'hlr_not_applicable',
  ])
  expect(world.bought).toEqual([])
})

test('what the network says goes before the numbering plan', async () => {
  const world = createWorld(() =>
    json({ ...connected(), is_ported: true, ported_network_name: 'Sunrise', is_roaming: true }),
  )
  await using engine = await engineOf(world)
  expect(await ask(engine, [MOBILE])).toMatchObject([
    {
      reason: 'hlr_connected',
      facts: {
        valid: true,
        reachable: true,
        carrier: 'Sunrise',
        ported: true,
        roaming: true,
        carrierCountry: 'Switzerland',
      },
      evidence: {
        carrier_source: 'network',
        hlr: { provider: 'hlr-lookups', status: 'CONNECTED' },
      },
    },
  ])
})

test.each([
  ['ABSENT', 'hlr_absent', 'answered', true, false],
  ['INVALID_MSISDN', 'hlr_unknown_subscriber', 'answered', false, false],
  ['UNDETERMINED', 'hlr_undetermined', 'unknown', true, null],
])('%s is %s', async (status, reason, told, valid, reachable) => {
  const world = createWorld(() => json({ ...connected(), connectivity_status: status }))
  await using engine = await engineOf(world)
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { status: told, reason, facts: { valid, reachable } },
  ])
})

test('a number is bought once: in one list, in two runs at a time, and again within a day', async () => {
  const world = createWorld()
  await using first = await engineOf(world)
  await using second = await engineOf(world)
  await Promise.all([ask(first, [MOBILE, MOBILE]), ask(first, [MOBILE]), ask(second, [MOBILE])])
  const [again] = await ask(second, [MOBILE])
  expect(world.bought).toEqual([MOBILE])
  expect(again).toMatchObject({ reason: 'hlr_connected', cached: true })
  world.clock.advance(24 * 3_600_000 + 1)
  await ask(second, [MOBILE])
  expect(world.bought).toEqual([MOBILE, MOBILE])
})

test('a query whose outcome was lost leaves the number in doubt, and is not bought again', async () => {
  const world = createWorld(() => failed('timeout', true))
  await using engine = await engineOf(world, [FIRST, SECOND])
  const [lost] = await ask(engine, [MOBILE])
  world.clock.advance(3_600_000)
  const [later] = await ask(engine, [MOBILE])
  expect([lost, later]).toMatchObject([
    { status: 'unknown', reason: 'hlr_in_doubt', facts: { valid: true, reachable: null } },
    { status: 'unknown', reason: 'hlr_in_doubt' },
  ])
  expect(world.bought).toEqual([MOBILE])
})

test('no number is bought twice over 200 kills at random moments', async () => {
  const numbers = Array.from({ length: 200 }, (_, index) => `+4179${2_000_000 + index}`)
  const world = createWorld()
  const random = seeded(7)
  for (const number of numbers) {
    await killedRun(world, number, Math.floor(random() * 12))
    world.clock.advance(60_000)
    await using survivor = await engineOf(world)
    const [answer] = await ask(survivor, [number])
    expect(['hlr_connected', 'hlr_in_doubt']).toContain(answer?.reason)
  }
  const counts = Map.groupBy(world.bought, (number) => number)
  expect(Math.max(...[...counts.values()].map((times) => times.length))).toBe(1)
}, 60_000)

test('a provider that refuses the keys rests, and the next one is asked', async () => {
  const world = createWorld((_, provider) =>
    provider === 'messente' ? json(messente('ON')) : status(401),
  )
  await using engine = await engineOf(world, [FIRST, SECOND])
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { reason: 'hlr_connected', evidence: { hlr: { provider: 'messente' } } },
  ])
  expect(await engine.health()).toMatchObject([
    {
      name: 'phone network hlr-lookups',
      status: 'failed',
      detail: expect.stringContaining('keys'),
    },
    { status: 'ok' },
  ])
})

test('a provider out of credit rests, and is asked again after its rest', async () => {
  let credit = false
  const world = createWorld(() => (credit ? json(connected()) : status(402)))
  await using engine = await engineOf(world)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ status: 'unknown', reason: 'hlr_paused' }])
  credit = true
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_paused' }])
  expect(world.bought).toHaveLength(1)
  world.clock.advance(600_001)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
})

test('what another worker may be buying is put off by a list, and in doubt once its time is over', async () => {
  const world = createWorld()
  const untilMs = world.clock.now() + 30_000
  const value = { provider: 'hlr-lookups', atMs: world.clock.now(), untilMs }
  await world.memory.claim({ key: `hlr:intent:${MOBILE}`, value, ttlMs: 3_600_000 })
  await using engine = await engineOf(world)
  const [putOff] = await ask(engine, [MOBILE], { lane: 'bulk' })
  expect(putOff).toMatchObject({ kind: 'later', group: 'hlr:begun:hlr-lookups' })
  expect(putOff?.kind === 'later' && putOff.afterMs).toBe(untilMs - world.clock.now())
  world.clock.advance(untilMs - world.clock.now())
  const states = [putOff?.kind === 'later' ? putOff.state : undefined]
  expect(await ask(engine, [MOBILE], { lane: 'bulk', states })).toMatchObject([
    { status: 'unknown', reason: 'hlr_in_doubt' },
  ])
  expect(world.bought).toEqual([])
})

test('a throttled number is tried again at once, and a list puts it off rather than give up', async () => {
  let refusals = 1
  const world = createWorld(() => (refusals-- > 0 ? status(502) : json(connected())))
  await using engine = await engineOf(world)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  refusals = 1_000
  const other = '+41791234568'
  expect(await ask(engine, [other])).toMatchObject([{ reason: 'hlr_throttled' }])
  expect(await ask(engine, [other], { lane: 'bulk' })).toMatchObject([
    { kind: 'later', group: 'hlr:hlr-lookups', state: { tries: 1 } },
  ])
  expect(await ask(engine, [other], { lane: 'bulk', states: [{ tries: 8 }] })).toMatchObject([
    { reason: 'hlr_throttled' },
  ])
})

test('the spending cap of a day holds, and lifts with the next day', async () => {
  const world = createWorld()
  const numbers = Array.from({ length: 9 }, (_, index) => `+4179123456${index}`)
  await using engine = await engineOf(world, [FIRST], { dailyCap: 5 })
  const answers = await ask(engine, numbers)
  expect(answers.filter((answer) => answer.reason === 'hlr_connected')).toHaveLength(5)
  expect(answers.filter((answer) => answer.reason === 'hlr_paused')).toHaveLength(4)
  expect(world.bought).toHaveLength(5)
  world.clock.advance(12 * 3_600_000)
  await ask(engine, numbers)
  expect(world.bought).toHaveLength(9)
})

test('a cap smaller than one bulk request buys that many, and a cap of none buys nothing', async () => {
  const numbers = Array.from({ length: 8 }, (_, index) => `+4179123456${index}`)
  const world = createWorld(() => json({ result: [] }))
  await using some = await engineOf(world, [SECOND], { dailyCap: 3 })
  await ask(some, numbers)
  expect(world.bought).toHaveLength(3)
  await using none = await engineOf(world, [FIRST], { dailyCap: 0 })
  expect(await ask(none, ['+41791239999'])).toMatchObject([{ reason: 'hlr_paused' }])
  expect(world.bought).toHaveLength(3)
})

test('requests under way and their rate stay within what the provider allows', async () => {
  const world = createWorld()
  const numbers = Array.from({ length: 60 }, (_, index) => `+417912345${10 + index}`)
  await using engine = await engineOf(world, [FIRST], { concurrency: 4, perSecond: 10 })
  const startedMs = world.clock.now()
  const answers = await ask(engine, numbers)
  expect(answers.every((answer) => answer.reason === 'hlr_connected')).toBe(true)
  expect(world.limiter.mostLeased()).toBeLessThanOrEqual(4)
  expect(world.clock.now() - startedMs).toBeGreaterThanOrEqual(4_900)
})

test('a list that fills its places leaves one to a single call', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const world = createWorld((number) => (number === MOBILE ? json(connected()) : gate.promise))
  await using engine = await engineOf(world, [FIRST], { concurrency: 5 })
  const numbers = Array.from({ length: 8 }, (_, index) => `+4179123450${index}`)
  const list = ask(engine, numbers, { lane: 'bulk' })
  while (world.bought.length < 4) await new Promise(setImmediate)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  gate.resolve(json(connected()))
  await list
})

test('an aborted run answers at once, and what was begun is still kept', async () => {
  const gate = Promise.withResolvers<HttpAnswer>()
  const world = createWorld(() => gate.promise)
  await using engine = await engineOf(world)
  const ending = new AbortController()
  const running = ask(engine, [MOBILE], { signal: ending.signal })
  while (world.bought.length === 0) await new Promise(setImmediate)
  ending.abort()
  expect(await running).toMatchObject([{ status: 'unknown', reason: 'timeout' }])
  gate.resolve(json(connected()))
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
  expect(world.bought).toEqual([MOBILE])
})

/** A run of a worker that stops for good after a number of steps of its memory: its promises never settle. */
async function killedRun(world: World, number: string, steps: number): Promise<void> {
  const killed = Promise.withResolvers<void>()
  let left = steps
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (left-- <= 0) {
      killed.resolve()
      return new Promise<T>(() => undefined)
    }
    return work()
  }
  const { memory, fetch } = world
  const mortal: Memory = {
    get: (keys) => step(() => memory.get(keys)),
    set: (entries) => step(() => memory.set(entries)),
    claim: (entry) => step(() => memory.claim(entry)),
    delete: (keys) => step(() => memory.delete(keys)),
  }
  const engine = await createPhoneEngine({
    ...world,
    memory: mortal,
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

function connected(): object {
  return {
    id: 'a1',
    connectivity_status: 'CONNECTED',
    original_network_name: 'Swisscom',
    original_country_code: 'CH',
    is_ported: false,
    is_roaming: false,
  }
}

function messente(word: string): object {
  return { result: [{ number: MOBILE, status: word, ported: false, roaming: false }] }
}

function json(body: object): HttpAnswer {
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    kind: 'response',
    status: 200,
    headers: {},
    body: bytes,
    cut: false,
    url: '',
    redirects: 0,
  }
}

function status(code: number): HttpAnswer {
  return {
    kind: 'response',
    status: code,
    headers: {},
    body: Buffer.from('{}'),
    cut: false,
    url: '',
    redirects: 0,
  }
}

function failed(reason: 'timeout', sent: boolean): HttpAnswer {
  return { kind: 'failed', reason, detail: 'no answer', url: '', sent }
}
