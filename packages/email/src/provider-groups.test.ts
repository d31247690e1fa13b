import { describe, expect, test } from 'vitest'
import { ask, testEngine } from './engine-fixture.ts'
import { providerOfHost } from './providers.ts'
import { startSmtp } from './smtp-fixture.ts'

// What one customer's names and hosts may do to the provider that many share.

/** A domain at Google, and others whose first host has a name of Google and whose second is theirs. */
function zoneBeside(strangers: readonly string[]): Record<string, readonly unknown[]> {
  const zone: Record<string, readonly unknown[]> = {
    'victim.test MX': [{ preference: 1, exchange: 'aspmx.l.google.com' }],
    'aspmx.l.google.com A': ['127.0.0.2'],
  }
  for (const name of strangers) {
    zone[`${name} MX`] = [
      { preference: 1, exchange: 'nowhere.google.com' },
      { preference: 2, exchange: `mx.${name}` },
    ]
    zone[`mx.${name} A`] = ['127.0.0.3']
  }
  return zone
}

const STRANGERS = ['one.test', 'two.test', 'three.test']

test('the reply of a host is not taken for one of the provider whose host comes first in the records', async () => {
  await using google = await startSmtp({}, '127.0.0.2')
  const greeting = '554 5.7.1 your address is blocked'
  await using stranger = await startSmtp({ greeting }, '127.0.0.3', google.port)
  await using engine = testEngine(stranger.port, zoneBeside(STRANGERS))
  for (const name of STRANGERS) {
    const [refused] = await ask(engine, [`a@${name}`])
    expect(refused).toMatchObject({ reason: 'blocked', evidence: { provider: 'other' } })
  }
  const [answer] = await ask(engine, ['b@victim.test'])
  expect(answer).toMatchObject({ status: 'deliverable', evidence: { provider: 'google' } })
})

test('if no host of the first group replies, those of others are asked, and what was unknown stays so', async () => {
  await using stranger = await startSmtp({}, '127.0.0.3')
  await using engine = testEngine(stranger.port, {
    ...zoneBeside(['one.test']),
    'lost.test MX': [
      { preference: 1, exchange: 'broken.google.com' },
      { preference: 2, exchange: 'nowhere.lost.test' },
    ],
    'broken.google.com A': 'failed',
  })
  const [found, lost] = await ask(engine, ['a@one.test', 'a@lost.test'])
  expect(found).toMatchObject({ status: 'deliverable', evidence: { mx_host: 'mx.one.test' } })
  expect(lost).toMatchObject({ status: 'unknown' })
})

describe('a provider that refuses us for some of its customers', () => {
  const host = 'victim-test.mail.protection.outlook.com'
  const zoneOf = (names: readonly string[]): Record<string, readonly unknown[]> => ({
    [`${host} A`]: ['127.0.0.2'],
    ...Object.fromEntries(names.map((name) => [`${name} MX`, [{ preference: 1, exchange: host }]])),
  })
  const recipient = (address: string): string =>
    address.endsWith('victim.test')
      ? '250 2.1.5 Recipient OK'
      : '550 5.7.64 TenantAttribution; Relay Access Denied'

  test('is asked for others as before', async () => {
    await using server = await startSmtp({ recipient }, '127.0.0.2')
    await using engine = testEngine(server.port, zoneOf(['victim.test', ...STRANGERS]))
    for (const name of STRANGERS) {
      expect((await ask(engine, [`a@${name}`]))[0]).toMatchObject({ reason: 'blocked' })
    }
    expect((await ask(engine, ['b@victim.test']))[0]).toMatchObject({ status: 'deliverable' })
  })

  test('is left alone if it refuses us for an address of its own', async () => {
    await using server = await startSmtp({ recipient }, '127.0.0.2')
    await using engine = testEngine(server.port, zoneOf(['victim.test', 'free.test']))
    for (const local of ['a', 'b', 'c']) await ask(engine, [`${local}@free.test`])
    expect((await ask(engine, ['b@victim.test']))[0]).toMatchObject({ reason: 'blocked' })
  })
})

describe('a mail host whose refusals repeat words that a caller chose', () => {
  const mx = [{ preference: 1, exchange: 'mx.victim.test' }]
  const zone = { 'victim.test MX': mx, 'mx.victim.test A': ['127.0.0.1'] }
  const relay = (address: string): string => `<${address}>: Relay access denied`
  const unknown = (address: string): string => `<${address}>: User unknown`
  const unknownLocal = (address: string): string => `${address.split('@')[0]}: User unknown`

  test.each([
    ['our name in a domain', 'a@verifier.sender.test.stranger.test', relay, 'relay_denied'],
    ['a block list in a domain', 'a@spamhaus.stranger.test', relay, 'relay_denied'],
    ['a rate limit in a domain', 'a@rate-limit.test', relay, 'relay_denied'],
    ['a block list in a quoted part', '"spamhaus list"@victim.test', unknown, 'mailbox_not_found'],
    [
      'our name in a quoted part',
      '"verifier.sender.test \\x"@victim.test',
      unknown,
      'mailbox_not_found',
    ],
    ['a block list and a quote', "spamhaus'list@victim.test", unknown, 'mailbox_not_found'],
    ['a block list without a domain', 'spamhaus@victim.test', unknownLocal, 'mailbox_not_found'],
  ])('is asked for others as before: %s', async (_, subject, text, reason) => {
    const recipient = (address: string): string =>
      /^(?:ok|postmaster)@victim/.test(address) ? '250 2.1.5 Ok' : `554 5.7.1 ${text(address)}`
    await using server = await startSmtp({ recipient })
    const at = subject.slice(subject.indexOf('@') + 1)
    await using engine = testEngine(server.port, { ...zone, [`${at} MX`]: mx })
    for (const account of ['one', 'two', 'three']) {
      expect((await ask(engine, [subject], { account }))[0]).toMatchObject({ reason })
    }
    expect((await ask(engine, ['ok@victim.test']))[0]).toMatchObject({ status: 'deliverable' })
  })
})

describe('a mail host named by the records of a domain that it does not serve', () => {
  const mx = [{ preference: 1, exchange: 'mx.victim.test' }]
  const zone = { 'victim.test MX': mx, 'stranger.test MX': mx, 'mx.victim.test A': ['127.0.0.1'] }

  test.each([
    ['530 5.7.1 Authentication required', 'deliverable'],
    ['550 Administrative prohibition', 'deliverable'],
    ['550 5.7.1 Access denied', 'deliverable'],
    // cPanel's Exim names whom it refuses.
    [
      '550-verifier.sender.test (verifier.sender.test) [127.0.0.1]:4711 is not permitted to\r\n550 relay through this server without authentication.',
      'deliverable',
    ],
    ['550 5.7.1 verifier.sender.test is not authorized to send mail here', 'unknown'],
    ['554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org', 'unknown'],
  ])('is asked for its own after "%s": %s', async (reply, status) => {
    const recipient = (address: string): string =>
      address.endsWith('@victim.test') ? '250 2.1.5 Ok' : reply
    await using server = await startSmtp({ recipient })
    await using engine = testEngine(server.port, zone)
    for (const local of ['a', 'b', 'c']) {
      const [answer] = await ask(engine, [`${local}@stranger.test`])
      expect(answer).toMatchObject({ reason: 'blocked' })
    }
    expect((await ask(engine, ['d@victim.test']))[0]).toMatchObject({ status })
  })

  test('is asked three times about that domain, and again after a quarter of an hour', async () => {
    let nowMs = Date.now()
    const recipient = (): string => '550 5.7.1 Access denied'
    await using server = await startSmtp({ recipient })
    await using engine = testEngine(server.port, zone, { clock: () => nowMs })
    const named = (): number => server.lines.filter((line) => line.startsWith('RCPT')).length
    const subjects = ['a', 'b', 'c', 'd'].map((local) => `${local}@stranger.test`)
    for (const subject of subjects) {
      expect((await ask(engine, [subject]))[0]).toMatchObject({ reason: 'blocked' })
    }
    expect(named()).toBe(3)
    const later = { kind: 'later', reason: 'blocked', group: 'guard:stranger.test' }
    expect(await ask(engine, ['e@stranger.test'], { lane: 'bulk' })).toMatchObject([later])
    nowMs += 15 * 60_000
    await ask(engine, ['f@stranger.test'])
    expect(named()).toBe(4)
  })

  test('is left alone if it refuses its own so', async () => {
    await using server = await startSmtp({ recipient: () => '550 5.7.1 Access denied' })
    await using engine = testEngine(server.port, zone)
    for (const local of ['a', 'b', 'c', 'd']) await ask(engine, [`${local}@victim.test`])
    expect(server.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(3)
  })
})

test.each([
  ['aspmx.l.google.com', 'google'],
  ['inbound-smtp.eu-west-1.amazonaws.com', 'amazon'],
  ['smtp.secureserver.net', 'godaddy'],
  ['mx1.comcast.net', 'comcast'],
  ['google', 'other'],
  ['ec2-192-0-2-1.eu-west-1.compute.amazonaws.com', 'other'],
  ['mail-0123456789abcdef.elb.eu-west-1.amazonaws.com', 'other'],
  ['ip-192-0-2-1.ip.secureserver.net', 'other'],
  ['s192-0-2-1.secureserver.net', 'other'],
  ['c-192-0-2-1.hsd1.pa.comcast.net', 'other'],
])('the provider of %s is %s, and machines of its customers are not its own', (name, id) => {
  expect(providerOfHost(name).id).toBe(id)
})
