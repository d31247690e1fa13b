import { createHmac, createVerify, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { HLR_ADAPTERS } from './adapters.ts'
import { loopbackFetch, type Received, type Sent, startProvider } from './provider-fixture.ts'
import {
  hlrLookupsReply,
  identityReply,
  infobipReply,
  messenteReply,
  NUMBER,
  twilioReply,
  vonageReply,
} from './replies-fixture.ts'
import type { HlrAnswer } from './provider.ts'
import { HLR_PROVIDERS, type HlrProviderName } from '@plumbline/ports/provider-status'

const NOW_MS = Date.UTC(2026, 10, 20, 12)
const keys = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

async function ask(
  name: HlrProviderName,
  reply: (request: Received) => Sent,
  numbers: readonly string[] = [NUMBER],
  timeoutMs = 10_000,
): Promise<{ answers: readonly HlrAnswer[]; received: Received[] }> {
  await using provider = await startProvider(reply)
  const answers = await HLR_ADAPTERS[name]({
    numbers,
    account: {
      url: provider.url,
      key: 'the-key',
      secret: name === 'vonage-identity' ? keys.privateKey : 'the-secret',
    },
    fetch: loopbackFetch,
    timeoutMs,
    signal: new AbortController().signal,
    nowMs: NOW_MS,
  })
  return { answers, received: provider.received }
}

function ok(json: unknown): () => Sent {
  return () => ({ status: 200, json })
}

const CONNECTED: Readonly<Record<HlrProviderName, unknown>> = {
  'hlr-lookups': hlrLookupsReply({}),
  infobip: infobipReply({}),
  twilio: twilioReply('active'),
  vonage: vonageReply({}),
  'vonage-identity': identityReply({ is_reachable: true }),
  messente: messenteReply('ON'),
}

test.each(HLR_PROVIDERS)('%s: a live number is connected, with its carrier', async (name) => {
  const { answers } = await ask(name, ok(CONNECTED[name]))
  expect(answers).toMatchObject([
    {
      kind: 'verdict',
      connectivity: 'connected',
      carrier: 'Swisscom',
      carrierCountry: expect.any(String),
    },
  ])
})

test.each(HLR_PROVIDERS)('%s: every text is cut to 200 characters', async (name) => {
  const long = 'x'.repeat(10_000)
  const kept = [NUMBER, NUMBER.slice(1), 'CONNECTED', 'ON', 'valid']
  const json = JSON.parse(JSON.stringify(CONNECTED[name]), (_key, value: unknown) =>
    typeof value === 'string' && !kept.includes(value) ? long : value,
  )
  const { answers } = await ask(name, ok(json))
  expect(answers).toMatchObject([{ kind: 'verdict', carrier: 'x'.repeat(200) }])
  const texts = Object.values(answers[0] ?? {}).filter((value) => typeof value === 'string')
  expect(Math.max(...texts.map((text) => text.length))).toBe(200)
})

const SAYINGS: readonly (readonly [HlrProviderName, string, unknown, string])[] = [
  ['hlr-lookups', 'ABSENT', hlrLookupsReply({ connectivity_status: 'ABSENT' }), 'absent'],
  [
    'hlr-lookups',
    'INVALID_MSISDN',
    hlrLookupsReply({ connectivity_status: 'INVALID_MSISDN' }),
    'unknown_subscriber',
  ],
  [
    'hlr-lookups',
    'UNDETERMINED',
    hlrLookupsReply({ connectivity_status: 'UNDETERMINED' }),
    'undetermined',
  ],
  [
    'infobip',
    'absent, though in the undelivered group',
    infobipReply({ group: 2, error: 27 }),
    'absent',
  ],
  ['infobip', 'unknown subscriber', infobipReply({ group: 2, error: 1 }), 'unknown_subscriber'],
  ['infobip', 'teleservice not provisioned', infobipReply({ group: 2, error: 11 }), 'undetermined'],
  ['infobip', 'memory full', infobipReply({ group: 2, error: 37 }), 'connected'],
  ['infobip', 'expired', infobipReply({ group: 4, error: 0 }), 'undetermined'],
  ['infobip', 'rejected', infobipReply({ group: 5, error: 0 }), 'undetermined'],
  ['twilio', 'reachable', twilioReply('reachable'), 'connected'],
  ['twilio', 'unreachable', twilioReply('unreachable'), 'absent'],
  ['twilio', 'inactive', twilioReply('inactive'), 'unknown_subscriber'],
  ['twilio', 'a package error under status 200', twilioReply(null, 60606), 'undetermined'],
  [
    'twilio',
    'an invalid number',
    { valid: false, validation_errors: ['TOO_SHORT'] },
    'unknown_subscriber',
  ],
  ['vonage', 'absent', vonageReply({ reachable: 'absent' }), 'absent'],
  ['vonage', 'bad number', vonageReply({ reachable: 'bad_number' }), 'unknown_subscriber'],
  ['vonage', 'not valid', vonageReply({ valid_number: 'not_valid' }), 'unknown_subscriber'],
  [
    'vonage',
    'inferred not valid',
    vonageReply({ valid_number: 'inferred_not_valid' }),
    'unknown_subscriber',
  ],
  [
    'vonage',
    'a partial reply',
    vonageReply({ status: 43, reachable: 'reachable' }),
    'undetermined',
  ],
  ['vonage-identity', 'not reachable', identityReply({ is_reachable: false }), 'absent'],
  [
    'vonage-identity',
    'no coverage, in small letters',
    identityReply({ status: { code: 'no_coverage' } }),
    'undetermined',
  ],
  ['messente', 'OFF', messenteReply('OFF'), 'absent'],
  ['messente', 'INVALID', messenteReply('INVALID'), 'unknown_subscriber'],
  ['messente', 'UNKNOWN', messenteReply('UNKNOWN'), 'undetermined'],
]

test.each(SAYINGS)('%s: %s is classified correctly', async (name, _title, json, connectivity) => {
  const { answers } = await ask(name, ok(json))
  expect(answers).toMatchObject([{ kind: 'verdict', connectivity }])
})

test('hlr-lookups: a ported number has the carrier it was ported to', async () => {
  const ported = { is_ported: true, ported_network_name: 'Sunrise', ported_country_code: 'CH' }
  const { answers } = await ask('hlr-lookups', ok(hlrLookupsReply(ported)))
  expect(answers).toMatchObject([
    { carrier: 'Sunrise', carrierCountry: 'CH', ported: true, roaming: false },
  ])
})

test.each([
  ['hlr-lookups', hlrLookupsReply({ is_ported: true })],
  ['infobip', infobipReply({ ported: true })],
  ['messente', messenteReply('ON', { ported: true, current_network: null })],
] as const)(
  '%s: a ported number whose network is not named has no carrier',
  async (name, reply) => {
    const { answers } = await ask(name, ok(reply))
    expect(answers).toMatchObject([{ carrier: null, ported: true }])
  },
)

test('hlr-lookups: the signature covers path, time, method and the bytes sent', async () => {
  const { received } = await ask('hlr-lookups', ok(CONNECTED['hlr-lookups']))
  const [request] = received
  const timestamp = String(NOW_MS / 1_000)
  const text = `/hlr-lookup${timestamp}POST${request?.body}`
  expect(request).toMatchObject({
    method: 'POST',
    url: '/api/v2/hlr-lookup',
    body: '{"msisdn":"+41793026727"}',
    headers: {
      'x-digest-key': 'the-key',
      'x-digest-timestamp': timestamp,
      'x-digest-signature': createHmac('sha256', 'the-secret').update(text).digest('hex'),
    },
  })
})

test('infobip: a thousand numbers are sent in one request and returned in order', async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => `+4179${1_000_000 + index}`)
  const { answers, received } = await ask(
    'infobip',
    ({ body }) => {
      const { to }: { to: string[] } = JSON.parse(body)
      const results = to.toReversed().map((number, index) => ({
        to: number,
        status: { groupId: 3, groupName: 'DELIVERED' },
        originalNetwork: { networkName: String(to.length - 1 - index) },
      }))
      return { status: 200, json: { results } }
    },
    numbers,
  )
  expect(received).toHaveLength(1)
  expect(answers.map((answer) => answer.kind === 'verdict' && Number(answer.carrier))).toEqual(
    numbers.map((_, index) => index),
  )
})

test.each([
  [12, 'REJECTED_NOT_ENOUGH_CREDITS', { kind: 'failed', cause: 'credit', maybeBought: false }],
  [17, 'REJECTED_PREPAID_PACKAGE_EXPIRED', { kind: 'failed', cause: 'credit' }],
  [6, 'REJECTED_NETWORK', { kind: 'verdict', connectivity: 'undetermined' }],
])('infobip: rejection %i under HTTP 200 (%s) is told from others', async (id, name, expected) => {
  const status = { groupId: 5, groupName: 'REJECTED', id, name }
  const { answers } = await ask('infobip', ok({ results: [{ to: NUMBER.slice(1), status }] }))
  expect(answers).toMatchObject([expected])
})

test('twilio: a batch is matched by correlation id, with the errors of single numbers', async () => {
  const numbers = [NUMBER, '+41791111111', '+41792222222', '+41793333333']
  const { answers, received } = await ask(
    'twilio',
    ({ body }) => {
      const { phone_numbers: asked }: { phone_numbers: { correlation_id: string }[] } =
        JSON.parse(body)
      const ids = asked.map((entry) => entry.correlation_id)
      const results = [
        { correlation_id: ids[2], twilio_error_code: 20_429 },
        { correlation_id: ids[1], twilio_error_code: 20_404 },
        { ...twilioReply('active'), correlation_id: ids[0] },
      ]
      return { status: 200, json: { phone_numbers: results } }
    },
    numbers,
  )
  expect(received).toMatchObject([{ method: 'POST', url: '/v2/batch/query' }])
  expect(answers).toMatchObject([
    { kind: 'verdict', connectivity: 'connected' },
    { kind: 'verdict', connectivity: 'undetermined' },
    { kind: 'failed', cause: 'throttled', maybeBought: false },
    { kind: 'failed', maybeBought: true },
  ])
})

test('a number that a bulk reply leaves out may have been bought', async () => {
  for (const name of ['infobip', 'messente'] as const) {
    const { answers } = await ask(name, ok(CONNECTED[name]), [NUMBER, '+41791111111'])
    expect(answers).toMatchObject([{ kind: 'verdict' }, { kind: 'failed', maybeBought: true }])
  }
})

test('vonage: roaming is read as an object and as a text', async () => {
  const abroad = { roaming: { status: 'roaming', roaming_country_code: 'US' } }
  expect((await ask('vonage', ok(vonageReply(abroad)))).answers).toMatchObject([{ roaming: true }])
  expect((await ask('vonage', ok(vonageReply({ roaming: 'unknown' })))).answers).toMatchObject([
    { roaming: null },
  ])
})

test('vonage: an assumption about porting is not a fact', async () => {
  const { answers } = await ask('vonage', ok(vonageReply({ ported: 'assumed_ported' })))
  expect(answers).toMatchObject([{ ported: null }])
})

test.each([
  [1, 'throttled', false],
  [4, 'credentials', false],
  [5, 'server', true],
  [9, 'credit', false],
  [999, 'server', true],
])('vonage: status %i under HTTP 200 is %s', async (status, cause, maybeBought) => {
  const { answers } = await ask('vonage', ok({ status, status_message: 'as documented' }))
  expect(answers).toMatchObject([{ kind: 'failed', cause, maybeBought }])
})

test('vonage-identity: a number without a network of its own is not known as ported', async () => {
  const { answers } = await ask('vonage-identity', ok(identityReply({}, { name: null })))
  expect(answers).toMatchObject([{ carrier: 'Swisscom', ported: null }])
  const other = identityReply({}, { name: 'Sunrise' })
  expect((await ask('vonage-identity', ok(other))).answers).toMatchObject([
    { carrier: 'Sunrise', ported: true },
  ])
})

test('vonage-identity: insights that the application may not have are refused credentials', async () => {
  const status = { code: 'UNAUTHORIZED' }
  const all = identityReply({ status }, { status })
  expect((await ask('vonage-identity', ok(all))).answers).toMatchObject([
    { kind: 'failed', cause: 'credentials', maybeBought: false },
  ])
  for (const one of [identityReply({ status }), identityReply({}, { status })]) {
    expect((await ask('vonage-identity', ok(one))).answers).toMatchObject([{ kind: 'verdict' }])
  }
})

test('vonage-identity: the request carries a token that the application key verifies', async () => {
  const { received } = await ask('vonage-identity', ok(CONNECTED['vonage-identity']))
  const token = received[0]?.headers.authorization?.replace('Bearer ', '') ?? ''
  const [header, claims, signature] = token.split('.')
  const verified = createVerify('RSA-SHA256')
    .update(`${header}.${claims}`)
    .verify(keys.publicKey, signature ?? '', 'base64url')
  expect(verified).toBe(true)
  expect(JSON.parse(Buffer.from(claims ?? '', 'base64url').toString())).toMatchObject({
    application_id: 'the-key',
    iat: NOW_MS / 1_000,
  })
})

test.each(HLR_PROVIDERS)(
  '%s: a query refused because of load or the account was not bought',
  async (name) => {
    const cases = [
      [429, 'throttled'],
      [503, 'throttled'],
      [401, 'credentials'],
      [403, 'credentials'],
      [402, 'credit'],
    ] as const
    for (const [status, cause] of cases) {
      const { answers } = await ask(name, () => ({
        status,
        json: {},
        headers: { 'retry-after': '7' },
      }))
      expect(answers).toMatchObject([{ kind: 'failed', cause, maybeBought: false }])
    }
  },
)

test.each(HLR_PROVIDERS)(
  '%s: a refusal counts although its body is broken, and a reply of 200 without one does not',
  async (name) => {
    // The body is not compressed.
    const broken = { json: {}, headers: { 'content-encoding': 'gzip' } }
    const cases = [
      [429, 'throttled', false],
      [401, 'credentials', false],
      [402, 'credit', false],
      [400, 'protocol', false],
      [500, 'server', true],
      [200, 'protocol', true],
    ] as const
    for (const [status, cause, maybeBought] of cases) {
      const { answers } = await ask(name, () => ({ status, ...broken }))
      expect(answers).toMatchObject([{ kind: 'failed', cause, maybeBought }])
    }
  },
)

test.each([
  ['7', 7_000],
  [new Date(NOW_MS + 90_000).toUTCString(), 90_000],
  [new Date(NOW_MS - 90_000).toUTCString(), 0],
  [new Date(NOW_MS + 90 * 86_400_000).toUTCString(), 3_600_000],
  ['soon', null],
])('a provider that throttles is asked again when it says: %s', async (header, retryMs) => {
  const reply = (): Sent => ({ status: 429, json: {}, headers: { 'retry-after': header } })
  expect((await ask('hlr-lookups', reply)).answers).toMatchObject([{ cause: 'throttled', retryMs }])
})

test('hlr-lookups: 502 and 504 mean throttling; from other providers they may hide a purchase', async () => {
  for (const status of [502, 504]) {
    const reply = (): Sent => ({ status, text: '<html>Bad Gateway</html>' })
    expect((await ask('hlr-lookups', reply)).answers).toMatchObject([
      { cause: 'throttled', maybeBought: false },
    ])
    expect((await ask('twilio', reply)).answers).toMatchObject([
      { cause: 'server', maybeBought: true },
    ])
  }
})

test.each(HLR_PROVIDERS)(
  '%s: a query without reply, with a cut connection or an unreadable reply may have been bought',
  async (name) => {
    const faults: readonly Sent[] = [
      'silence',
      'cut',
      { status: 500, json: {} },
      { status: 200, text: 'not json' },
      { status: 200, json: [] },
      { status: 200, json: { connectivity_status: 'PERHAPS', result: 'none', results: 7 } },
    ]
    for (const fault of faults) {
      const { answers, received } = await ask(name, () => fault, [NUMBER], 300)
      expect(answers).toMatchObject([{ kind: 'failed', maybeBought: true }])
      expect(received).toHaveLength(1)
    }
  },
)

test.each(['hlr-lookups', 'twilio', 'vonage'] as const)(
  '%s: a reply about another number is ignored',
  async (name) => {
    const lie = {
      'hlr-lookups': hlrLookupsReply({ msisdn: '+15550001111' }),
      twilio: { ...twilioReply('active'), phone_number: '+15550001111' },
      vonage: vonageReply({ international_format_number: '15550001111' }),
    }[name]
    const { answers } = await ask(name, ok(lie))
    expect(answers).toMatchObject([{ kind: 'failed', cause: 'protocol', maybeBought: true }])
  },
)

test('nothing was bought if the connection to a provider was refused', async () => {
  const answers = await HLR_ADAPTERS['hlr-lookups']({
    numbers: [NUMBER],
    account: { url: 'http://127.0.0.1:1', key: 'k', secret: 's' },
    fetch: loopbackFetch,
    timeoutMs: 1_000,
    signal: new AbortController().signal,
    nowMs: NOW_MS,
  })
  expect(answers).toMatchObject([{ kind: 'failed', cause: 'server', maybeBought: false }])
})
