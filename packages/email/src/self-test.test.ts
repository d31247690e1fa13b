import { expect, test } from 'vitest'
import { createEgress } from '@plumbline/net/egress'
import { zoneOf } from './engine-fixture.ts'
import { runSelfTest } from './self-test.ts'
import type { SelfTest, SelfTestOptions } from './self-test.ts'
import { fakeResolver, startSmtp } from './smtp-fixture.ts'

const OURS = '9.9.1.2'
const REVERSE = '2.1.9.9.in-addr.arpa'
const LISTED = '2.1.9.9.bl.test'

/** A sender that has everything right. */
const GOOD: Readonly<Record<string, readonly unknown[]>> = {
  'verifier.sender.test A': [OURS],
  [`${REVERSE} PTR`]: ['verifier.sender.test'],
  'sender.test TXT': [`v=spf1 ip4:${OURS} -all`],
}

test('a correctly configured sender has no failed row', async () => {
  const { health } = await selfTest(GOOD)
  expect(rowsOf(health)).toMatchObject({
    'smtp helo name': 'ok: verifier.sender.test resolves',
    [`reverse name of ${OURS}`]: 'ok: verifier.sender.test, confirmed',
    'spf of the sender': `ok: sender.test permits ${OURS}`,
    'blocklist bl.test': `ok: ${OURS} is not listed`,
  })
})

test.each([
  ['no SPF record', ['some other text'], 'sender.test has no SPF record'],
  ['an SPF record without us', ['v=spf1 ip4:9.9.9.9 -all'], `SPF of sender.test: fail for ${OURS}`],
  ['an SPF record in doubt', ['v=spf1 ~all'], `SPF of sender.test: softfail for ${OURS}`],
  ['a broken SPF record', ['v=spf1 nonsense:x'], `SPF of sender.test: permerror for ${OURS}`],
  ['two SPF records', ['v=spf1 -all', 'v=spf1 -all'], `SPF of sender.test: permerror for ${OURS}`],
  ['names that do not answer', 'failed', 'the SPF record of sender.test could not be read'],
] as const)('the sender with %s is degraded', async (_what, records, detail) => {
  const { health } = await selfTest({ ...GOOD, 'sender.test TXT': records })
  expect(rowsOf(health)['spf of the sender']).toBe(`degraded: ${detail}`)
})

test('the SPF record of the sender is evaluated across included names', async () => {
  const { health } = await selfTest({
    ...GOOD,
    'sender.test TXT': ['v=spf1 include:other.test a:verifier.sender.test -all'],
    'other.test TXT': ['v=spf1 mx -all'],
    'other.test MX': [{ preference: 10, exchange: 'mx.other.test' }],
    'mx.other.test A': ['9.9.9.9'],
  })
  expect(rowsOf(health)['spf of the sender']).toBe(`ok: sender.test permits ${OURS}`)
})

test.each([
  ['without a name', {}, 'no PTR record; large providers refuse'],
  [
    'with a name that leads elsewhere',
    { [`${REVERSE} PTR`]: ['host.isp.test'], 'host.isp.test A': ['9.9.9.9'] },
    'host.isp.test does not resolve back to it',
  ],
  ['whose PTR query fails', { [`${REVERSE} PTR`]: 'no_root' as const }, 'the DNS query failed'],
  [
    'with a name whose query fails',
    { [`${REVERSE} PTR`]: ['host.isp.test'], 'host.isp.test A': 'failed' as const },
    'the DNS query for host.isp.test failed',
  ],
])('an address %s is degraded', async (_what, zone, detail) => {
  const { health } = await selfTest({ ...GOOD, [`${REVERSE} PTR`]: 'nxdomain', ...zone })
  expect(rowsOf(health)[`reverse name of ${OURS}`]).toBe(`degraded: ${detail}`)
})

test.each([
  ['does not exist', 'nxdomain', 'verifier.sender.test does not resolve; servers may refuse it'],
  ['fails in the query', 'no_root', 'the DNS query for verifier.sender.test failed'],
  ['is another', ['9.9.9.9'], 'verifier.sender.test resolves to another address than ours'],
] as const)('a HELO name that %s is degraded', async (_what, records, detail) => {
  const { health } = await selfTest({ ...GOOD, 'verifier.sender.test A': records })
  expect(rowsOf(health)['smtp helo name']).toBe(`degraded: ${detail}`)
})

test.each([
  [['127.0.0.2'], `failed: ${OURS} is listed (127.0.0.2)`],
  [['127.255.255.254'], 'degraded: refuses queries from this resolver'],
  ['failed', 'degraded: did not reply'],
] as const)('a blocklist that answers %s is told as it is', async (records, row) => {
  const { health } = await selfTest({ ...GOOD, [`${LISTED} A`]: records })
  expect(rowsOf(health)['blocklist bl.test']).toBe(row)
})

test('port 25 is open if a provider is reached, and blocked if none is', async () => {
  const zone = { ...GOOD, ...zoneOf({ 'large.test': '127.0.0.1' }) }
  const server = await startSmtp({})
  const open = await selfTest(zone, { port: server.port, targets: ['large.test'] })
  await server[Symbol.asyncDispose]()
  const shut = await selfTest(zone, { port: server.port, targets: ['large.test'] })
  const nameless = await selfTest(zone, { targets: ['nowhere.test'] })
  expect([open.portOpen, shut.portOpen, nameless.portOpen]).toEqual([true, false, null])
  expect(shut.health[0]).toEqual({
    name: `smtp port ${server.port}`,
    status: 'failed',
    detail: 'none of 1 large providers reached; results say smtp_unavailable',
  })
})

function selfTest(
  zone: Parameters<typeof fakeResolver>[0],
  options: Partial<SelfTestOptions> = {},
): Promise<SelfTest> {
  return runSelfTest({
    egress: createEgress({ allow: ['127.0.0.0/8'] }),
    resolver: fakeResolver(zone),
    port: 25,
    heloName: 'verifier.sender.test',
    mailFrom: 'verify@sender.test',
    sourceAddresses: [OURS],
    dnsbl: ['bl.test'],
    targets: [],
    timeoutMs: 500,
    signal: AbortSignal.timeout(5_000),
    ...options,
  })
}

function rowsOf(health: SelfTest['health']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    health.map(({ name, status, detail }) => [name, `${status}: ${detail}`]),
  )
}
