import { expect, test } from 'vitest'
import {
  ask,
  connected,
  createHlrFixture,
  engineOf,
  FIRST,
  json,
  messente,
  MOBILE,
  SECOND,
  status,
} from './hlr-fixture.ts'

test('without a provider the numbering plan answers, and the network is unknown', async () => {
  const fixture = createHlrFixture()
  await using engine = await engineOf(fixture, [])
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

test('numbers that cannot be in an HLR are never sent to a provider', async () => {
  const fixture = createHlrFixture()
  await using engine = await engineOf(fixture)
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
  expect(fixture.bought).toEqual([])
})

test('numbers that may be mobile are asked about, and have the kind that the network says', async () => {
  const fixture = createHlrFixture()
  await using engine = await engineOf(fixture)
  const american = '+12012000123'
  expect(await ask(engine, [american, MOBILE])).toMatchObject([
    { reason: 'hlr_connected', facts: { lineType: 'mobile' } },
    { reason: 'hlr_connected', facts: { lineType: 'mobile' } },
  ])
  expect(fixture.bought).toEqual([american, MOBILE])
})

test('facts of the network override the numbering plan', async () => {
  const fixture = createHlrFixture(() =>
    json({ ...connected(), is_ported: true, ported_network_name: 'Sunrise', is_roaming: true }),
  )
  await using engine = await engineOf(fixture)
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

test('a number that has left its range has no carrier unless its network is named', async () => {
  const fixture = createHlrFixture(() => json({ ...connected(), is_ported: true }))
  await using engine = await engineOf(fixture)
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { facts: { carrier: null, ported: true }, evidence: { carrier_source: null } },
  ])
})

test('a number whose network is not named and that has not left its range has the carrier of that', async () => {
  const fixture = createHlrFixture(() => json(messente('ON')))
  await using engine = await engineOf(fixture, [SECOND])
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { facts: { carrier: 'Swisscom', ported: false }, evidence: { carrier_source: 'prefix' } },
  ])
})

test.each([
  ['ABSENT', 'hlr_absent', 'answered', true, false],
  ['INVALID_MSISDN', 'hlr_unknown_subscriber', 'answered', true, false],
  ['UNDETERMINED', 'hlr_undetermined', 'unknown', true, null],
])('%s is %s', async (status, reason, told, valid, reachable) => {
  const fixture = createHlrFixture(() => json({ ...connected(), connectivity_status: status }))
  await using engine = await engineOf(fixture)
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { status: told, reason, facts: { valid, reachable } },
  ])
})

test('a provider that refuses the keys is paused, and the next one is asked', async () => {
  const fixture = createHlrFixture((_, provider) =>
    provider === 'messente' ? json(messente('ON')) : status(401),
  )
  await using engine = await engineOf(fixture, [FIRST, SECOND])
  expect(await ask(engine, [MOBILE])).toMatchObject([
    { reason: 'hlr_connected', evidence: { hlr: { provider: 'messente' } } },
  ])
  expect(await engine.health()).toMatchObject([
    {
      name: 'hlr hlr-lookups',
      status: 'failed',
      detail: expect.stringContaining('keys'),
    },
    { status: 'ok' },
  ])
})

test('a provider out of credit is paused, and is asked again after the pause', async () => {
  let credit = false
  const fixture = createHlrFixture(() => (credit ? json(connected()) : status(402)))
  await using engine = await engineOf(fixture)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ status: 'unknown', reason: 'hlr_paused' }])
  credit = true
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_paused' }])
  expect(fixture.bought).toHaveLength(1)
  fixture.clock.advance(600_001)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
})

test('a throttled number is retried at once, and a batch then postpones it', async () => {
  let refusals = 1
  const fixture = createHlrFixture(() => (refusals-- > 0 ? status(502) : json(connected())))
  await using engine = await engineOf(fixture)
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

test.each(['0', '1', 'Fri, 20 Nov 2020 12:00:00 GMT'])(
  'a number of a batch is not tried again at once, although the provider says so (Retry-After: %s)',
  async (header) => {
    const busy = { ...status(429), headers: { 'retry-after': header } }
    const fixture = createHlrFixture(() => busy)
    await using engine = await engineOf(fixture)
    const [answer] = await ask(engine, [MOBILE], { lane: 'bulk' })
    expect(answer).toMatchObject({ kind: 'later', reason: 'hlr_throttled', afterMs: 5_000 })
  },
)

test('a provider that asks for a pause is sent no other number before it is over', async () => {
  let busy = true
  const refusal = { ...status(429), headers: { 'retry-after': '60' } }
  const fixture = createHlrFixture(() => (busy ? refusal : json(connected())))
  const numbers = Array.from({ length: 3 }, (_, index) => `+4179123456${index}`)
  await using engine = await engineOf(fixture, [FIRST], { concurrency: 1 })
  await using other = await engineOf(fixture, [FIRST], { concurrency: 1 })
  const expected = { kind: 'later', reason: 'hlr_throttled', afterMs: 60_000 }
  expect(await ask(engine, numbers, { lane: 'bulk' })).toMatchObject([expected, expected, expected])
  expect(await ask(other, [MOBILE])).toMatchObject([{ reason: 'hlr_throttled' }])
  expect(fixture.bought).toHaveLength(1)
  busy = false
  fixture.clock.advance(60_001)
  expect(await ask(engine, [MOBILE])).toMatchObject([{ reason: 'hlr_connected' }])
})
