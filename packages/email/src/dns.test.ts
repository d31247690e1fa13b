import { describe, expect, test } from 'vitest'
import { ask, outcomeOf, testEngine } from './engine-fixture.ts'
import { findAddresses, findRoute } from './mx.ts'
import { fakeResolver, startSmtp } from './smtp-fixture.ts'

type Zone = Parameters<typeof fakeResolver>[0]
const mx = (...hosts: (readonly [number, string])[]) =>
  hosts.map(([preference, exchange]) => ({ preference, exchange }))

/** Name, zone, status, reason, whether an MX was found. The server accepts every recipient. */
const CASES: readonly (readonly [string, Zone, string, string, boolean | null])[] = [
  ['no such domain', {}, 'undeliverable', 'no_domain', false],
  ['a null MX', { 'd.test MX': mx([0, '.']) }, 'undeliverable', 'null_mx', false],
  [
    'a null MX written as an empty name',
    { 'd.test MX': mx([0, '']) },
    'undeliverable',
    'null_mx',
    false,
  ],
  ['neither MX nor address', { 'd.test TXT': ['x'] }, 'undeliverable', 'no_mail_host', false],
  ['MX servfail', { 'd.test MX': 'failed' }, 'unknown', 'dns_failed', null],
  ['MX no_root', { 'd.test MX': 'no_root' }, 'unknown', 'dns_unavailable', null],
  [
    'MX nodata, A no_root',
    { 'd.test MX': 'nodata', 'd.test A': 'no_root' },
    'unknown',
    'dns_unavailable',
    null,
  ],
  [
    'no MX, address servfail',
    { 'd.test MX': 'nodata', 'd.test A': 'failed' },
    'unknown',
    'dns_failed',
    null,
  ],
  [
    'no MX, only AAAA fails',
    { 'd.test MX': 'nodata', 'd.test AAAA': 'failed' },
    'unknown',
    'dns_failed',
    null,
  ],
  [
    'no MX, an address',
    { 'd.test MX': 'nodata', 'd.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    false,
  ],
  [
    'one MX',
    { 'd.test MX': mx([10, 'mx.d.test']), 'mx.d.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the first MX does not exist',
    { 'd.test MX': mx([1, 'no.d.test'], [5, 'mx.d.test']), 'mx.d.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the first MX has no address',
    {
      'd.test MX': mx([1, 'no.d.test'], [5, 'mx.d.test']),
      'no.d.test A': 'nodata',
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the first MX fails to resolve',
    {
      'd.test MX': mx([1, 'no.d.test'], [5, 'mx.d.test']),
      'no.d.test A': 'failed',
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the first MX is dead',
    {
      'd.test MX': mx([1, 'dead.d.test'], [5, 'mx.d.test']),
      'dead.d.test A': ['127.9.9.9'],
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the first address is dead',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': ['127.9.9.9', '127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'every MX is missing',
    { 'd.test MX': mx([1, 'no.d.test'], [2, 'nor.d.test']) },
    'undeliverable',
    'no_mail_host',
    false,
  ],
  [
    'every MX fails to resolve',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': 'failed', 'mx.d.test AAAA': 'failed' },
    'unknown',
    'dns_failed',
    null,
  ],
  [
    'one MX missing, the other failing',
    {
      'd.test MX': mx([1, 'no.d.test'], [2, 'mx.d.test']),
      'mx.d.test A': 'failed',
      'mx.d.test AAAA': 'failed',
    },
    'unknown',
    'dns_failed',
    null,
  ],
  [
    'every MX is private',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': ['10.0.0.1'] },
    'unknown',
    'unsafe_host',
    true,
  ],
  [
    'an MX at a metadata service',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': ['169.254.169.254'] },
    'unknown',
    'unsafe_host',
    true,
  ],
  [
    'an MX mapped into IPv6',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test AAAA': ['::ffff:10.0.0.1'] },
    'unknown',
    'unsafe_host',
    true,
  ],
  [
    'a private MX before a good one',
    {
      'd.test MX': mx([1, 'bad.d.test'], [2, 'mx.d.test']),
      'bad.d.test A': ['192.168.0.1'],
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'an MX that is an address',
    { 'd.test MX': mx([1, '127.0.0.1']) },
    'undeliverable',
    'no_mail_host',
    false,
  ],
  [
    'an MX with underscores in its name',
    { 'd.test MX': mx([1, '_mx_1.d.test']), '_mx_1.d.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'an MX with a blank in its name',
    { 'd.test MX': mx([1, 'm x.d.test']) },
    'undeliverable',
    'no_mail_host',
    false,
  ],
  [
    'an MX with an injection in its name',
    { 'd.test MX': mx([1, 'mx\r\nQUIT.d.test']) },
    'undeliverable',
    'no_mail_host',
    false,
  ],
  [
    'a null MX among others',
    { 'd.test MX': mx([0, '.'], [5, 'mx.d.test']), 'mx.d.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'a thousand MX, the best last',
    {
      'd.test MX': mx(
        ...Array.from({ length: 1000 }, (_, n) => [1000 - n, `mx${n}.d.test`] as const),
      ),
      'mx999.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'thirty MX that are no host names, then one that is',
    {
      'd.test MX': mx(...Array.from({ length: 30 }, (_, n) => [n, `127.0.0.${n}`] as const), [
        99,
        'mx.d.test',
      ]),
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'the same MX ten times',
    {
      'd.test MX': mx(...Array.from({ length: 10 }, () => [1, 'mx.d.test'] as const)),
      'mx.d.test A': ['127.0.0.1'],
    },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'an MX in upper case',
    { 'd.test MX': mx([1, 'MX.D.TEST']), 'mx.d.test A': ['127.0.0.1'] },
    'deliverable',
    'accepted',
    true,
  ],
  [
    'all dead',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': ['127.9.9.9'] },
    'unknown',
    'connect_failed',
    true,
  ],
  ['MX that never answers', { 'd.test MX': 'hang' }, 'unknown', 'timeout', null],
  [
    'address that never answers',
    { 'd.test MX': mx([1, 'mx.d.test']), 'mx.d.test A': 'hang' },
    'unknown',
    'timeout',
    true,
  ],
]

describe('names', () => {
  test.each(CASES)('%s', async (_name, zone, status, reason, mxFound) => {
    await using smtp = await startSmtp({})
    await using engine = testEngine(smtp.port, zone)
    const [answer] = await ask(engine, ['ada@d.test'], { signal: AbortSignal.timeout(1_500) })
    const outcome = outcomeOf(answer)
    expect([outcome.status, outcome.reason, outcome.facts.mxFound]).toEqual([
      status,
      reason,
      mxFound,
    ])
  })

  test('the better preference is tried first', async () => {
    await using smtp = await startSmtp({})
    const zone = {
      'd.test MX': mx([20, 'b.test'], [10, 'a.test']),
      'a.test A': ['127.0.0.1'],
      'b.test A': ['127.0.0.1'],
    }
    await using engine = testEngine(smtp.port, zone)
    const outcome = outcomeOf((await ask(engine, ['ada@d.test']))[0])
    expect(outcome.evidence['mx_host']).toBe('a.test')
  })
})

test.each([
  { probing: 'smtp' as const, reason: 'connect_failed' },
  { probing: 'dns_only' as const, reason: 'probing_off' },
])('hosts that were not looked up may take mail, whatever others lack: $probing', async (each) => {
  const gone = ['a', 'b', 'c'].map((name, at) => [at, `${name}.gone.test`] as const)
  const zone = { 'd.test MX': mx(...gone, [9, 'mx.d.test']), 'mx.d.test A': ['127.0.0.1'] }
  await using engine = testEngine(1, zone, { probing: each.probing })
  const { status, reason } = outcomeOf((await ask(engine, ['a@d.test']))[0])
  expect({ status, reason }).toEqual({ status: 'unknown', reason: each.reason })
})

test('an IPv4 address that is mapped into IPv6 is the same address', async () => {
  const zone = { 'mx.test A': ['192.0.2.1'], 'mx.test AAAA': ['::ffff:c000:201', '2001:db8::1'] }
  const { signal } = new AbortController()
  expect(await findAddresses(fakeResolver(zone), () => true, 'mx.test', signal)).toEqual({
    kind: 'addresses',
    addresses: ['192.0.2.1', '2001:db8::1'],
  })
})

test('of many mail hosts, the three best are tried and the twenty best are known', async () => {
  const records = Array.from({ length: 30 }, (_, at) => [30 - at, `mx${30 - at}.d.test`] as const)
  const { signal } = new AbortController()
  const resolver = fakeResolver({ 'd.test MX': mx(...records) })
  const route = await findRoute(resolver, 'd.test', () => 0, signal)
  const best = Array.from({ length: 20 }, (_, at) => `mx${at + 1}.d.test`)
  expect(route).toEqual({
    kind: 'hosts',
    hosts: best.slice(0, 3),
    implicit: false,
    exchanges: best,
  })
})
