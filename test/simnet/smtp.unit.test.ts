import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FAULTS } from './smtp/faults.ts'
import { connect } from 'node:net'
import { openSmtp } from './smtp-client.ts'
import { startSimnet } from './simnet.ts'
import type { Simnet } from './simnet.ts'
import type { Domain } from './world/domain.ts'

// Servers and processes start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

let simnet: Simnet
beforeAll(async () => {
  simnet = await startSimnet({
    seed: 7,
    bulkDomains: { count: 1000, kinds: ['plain', 'accept-all'] },
  })
})
afterAll(async () => simnet[Symbol.asyncDispose]())

const HELLO = ['EHLO verifier.simnet.example', 'MAIL FROM:<probe@verifier.simnet.example>'] as const

function domainOf(kind: string, nth = 0): Domain {
  const found = [...simnet.world.domains.values()].filter((domain) => domain.kind === kind)[nth]
  if (found === undefined) throw new Error(`no domain of kind ${kind}`)
  return found
}

function hostOf(domain: Domain): string {
  const { mail } = domain
  const name =
    mail.kind === 'mx' ? mail.exchanges[0]?.host : mail.kind === 'implicit' ? mail.host : undefined
  return simnet.world.addressOf(name ?? '') ?? ''
}

async function dial(domain: Domain): ReturnType<typeof openSmtp> {
  return openSmtp(hostOf(domain), Number(simnet.settings['SMTP_PORT']))
}

/** A local part at a domain whose mailbox has the wanted state. */
function mailbox(domain: Domain, status: string): string {
  for (let i = 0; ; i++) {
    const address = `user${i}@${domain.name}`
    if (simnet.world.expectEmail(address).reason === status) return address
  }
}

test('every ordinary mailbox gets the reply of its expected state', async () => {
  for (const kind of [
    'plain',
    'exim',
    'exchange',
    'google',
    'microsoft365',
    'icloud',
    'gmx',
    'proofpoint',
    'barracuda',
    'hosted',
  ]) {
    const domain = domainOf(kind)
    using client = await dial(domain)
    await client.say(...HELLO)
    for (let i = 0; i < 40; i++) {
      const address = `user${i}@${domain.name}`
      const [reply] = await client.say(`RCPT TO:<${address}>`)
      const expected = simnet.world.expectEmail(address)
      expect([address, reply?.startsWith('250')]).toEqual([
        address,
        expected.status === 'deliverable',
      ])
    }
  }
})

test('an invented mailbox is accepted only by hosts that accept all', async () => {
  for (const [kind, code] of [
    ['plain', '550'],
    ['accept-all', '250'],
    ['yahoo', '250'],
    ['disposable', '250'],
  ] as const) {
    using client = await dial(domainOf(kind))
    const replies = await client.say(...HELLO, `RCPT TO:<x7q2vv81kd03mz@${domainOf(kind).name}>`)
    expect([kind, replies[2]?.slice(0, 3)]).toEqual([kind, code])
  }
})

test("a server refuses to relay for others' domains", async () => {
  using client = await dial(domainOf('plain'))
  const replies = await client.say(...HELLO, 'RCPT TO:<ada.flintmoor@gmail.com>')
  expect(replies[2]).toContain('Relay access denied')
})

test('pipelined commands are answered in order', async () => {
  const domain = domainOf('plain')
  using client = await dial(domain)
  const replies = await client.say(
    ...HELLO,
    `RCPT TO:<${mailbox(domain, 'accepted')}>`,
    `RCPT TO:<${mailbox(domain, 'mailbox_not_found')}>`,
    'RSET',
    'QUIT',
  )
  expect(replies.map((reply) => reply.slice(0, 3))).toEqual([
    '250',
    '250',
    '250',
    '550',
    '250',
    '221',
  ])
  await client.closed
})

test('Outlook temporarily refuses a second recipient in one transaction', async () => {
  const domain = domainOf('outlook')
  using client = await dial(domain)
  const good = `RCPT TO:<${mailbox(domain, 'accepted')}>`
  const replies = await client.say(...HELLO, good, good, 'RSET', HELLO[1], good)
  expect(replies.map((reply) => reply.slice(0, 3))).toEqual([
    '250',
    '250',
    '250',
    '451',
    '250',
    '250',
    '250',
  ])
})

test('a client is refused in the phase of its host, before the reply depends on a mailbox', async () => {
  const phases = { 'blocked-ehlo': 0, 'blocked-mail': 1, 'blocked-rcpt': 2 }
  for (const [kind, index] of Object.entries(phases)) {
    const domain = domainOf(kind)
    using client = await dial(domain)
    const replies: string[] = []
    for (const line of [...HELLO, `RCPT TO:<user1@${domain.name}>`].slice(0, index + 1))
      replies.push(...(await client.say(line)))
    expect(replies[index]).toMatch(/^55[04] 5\.7\.1/)
  }
  using client = await dial(domainOf('blocked-banner'))
  expect(client.banner).toMatch(/^554 5\.7\.1/)
})

test('a greylisted triplet is accepted after its wait and not before', async () => {
  const domain = domainOf('greylist')
  const address = mailbox(domain, 'accepted')
  using client = await dial(domain)
  const first = await client.say(...HELLO, `RCPT TO:<${address}>`, `RCPT TO:<${address}>`)
  expect(first.slice(2).map((reply) => reply.slice(0, 3))).toEqual(['450', '450'])
  await expect.poll(async () => (await client.say(`RCPT TO:<${address}>`))[0]).toMatch(/^250/)
})

test('a session after STARTTLS no longer offers it', async () => {
  const domain = domainOf('tls-required')
  using client = await dial(domain)
  const [plain, refused] = await client.say(...HELLO)
  expect(plain).toContain('STARTTLS')
  expect(refused).toMatch(/^530/)
  await client.say('STARTTLS')
  await client.startTls()
  const [secure, sender] = await client.say(...HELLO)
  expect(secure).not.toContain('STARTTLS')
  expect(sender).toMatch(/^250/)
})

test('the limits of a connection are enforced', async () => {
  const domain = domainOf('rate-limited')
  using client = await dial(domain)
  await client.say(...HELLO)
  const good = `RCPT TO:<${mailbox(domain, 'accepted')}>`
  const codes: string[] = []
  for (let i = 0; i < 6; i++) codes.push(((await client.say(good))[0] ?? '').slice(0, 3))
  expect(codes).toEqual(['250', '250', '250', '452', '452', '421'])
  await client.closed
})

test('violations of the protocol are counted', async () => {
  const domain = domainOf('no-pipelining')
  using client = await dial(domain)
  await client.say(...HELLO)
  await client.say('DATA')
  expect(simnet.counters.violations.get('pipelining where it is not offered')).toBeGreaterThan(0)
  const host = domain.mail.kind === 'mx' ? domain.mail.exchanges[0]?.host : undefined
  expect(simnet.counters.smtp.get(host ?? '')?.dataCommands).toBe(1)
})

test('bulk domains are answered by rule', async () => {
  const port = Number(simnet.settings['SMTP_PORT'])
  using plain = await openSmtp(simnet.world.addressOf('mx.d998.example') ?? '', port)
  const replies = await plain.say(
    ...HELLO,
    'RCPT TO:<nobody-here@d998.example>',
    'RCPT TO:<user1@d999.example>',
  )
  expect(replies.slice(2).map((reply) => reply.slice(0, 3))).toEqual(['550', '554'])
  using all = await openSmtp(simnet.world.addressOf('mx.d999.example') ?? '', port)
  expect((await all.say(...HELLO, 'RCPT TO:<nobody-here@d999.example>'))[2]).toMatch(/^250/)
  expect(simnet.world.addressOf('mx.d1000.example')).toBeUndefined()
})

test('every hostile server survives a client that sends commands and disconnects', async () => {
  const port = Number(simnet.settings['SMTP_PORT'])
  expect(Object.keys(FAULTS).length).toBeGreaterThanOrEqual(40)
  const visits = Object.keys(FAULTS).map(async (fault) => {
    const socket = connect(port, simnet.world.addressOf(`mx.smtp-${fault}.example`) ?? '')
    socket.on('error', () => undefined)
    socket.resume()
    const left = new Promise((done) => socket.once('close', done))
    const lines = [...HELLO, 'STARTTLS', 'RCPT TO:<user1@x.example>', 'QUIT'].map(
      (line) => `${line}\r\n`,
    )
    socket.write(lines.join(''), () => setImmediate(() => socket.destroy()))
    await left
  })
  await Promise.all(visits)
  using client = await dial(domainOf('plain'))
  expect((await client.say(HELLO[0]))[0]).toMatch(/^250/)
})

test('a round-trip time of 80 ms delays every exchange by that, however many commands it has', async () => {
  await using far = await startSimnet({ seed: 7, rttMs: 80 })
  const domain = domainOf('plain')
  const began = performance.now()
  using client = await openSmtp(
    far.world.addressOf(`mail.${domain.name}`) ?? '',
    Number(far.settings['SMTP_PORT']),
  )
  const greeted = performance.now()
  await client.say(
    ...HELLO,
    ...Array.from({ length: 50 }, (_, i) => `RCPT TO:<user${i}@${domain.name}>`),
  )
  const answered = performance.now()
  expect(greeted - began).toBeGreaterThan(155)
  expect(answered - greeted).toBeGreaterThan(75)
  expect(answered - greeted).toBeLessThan(2000)
  await client.say('STARTTLS')
  await client.startTls()
  expect((await client.say(HELLO[0]))[0]).toMatch(/^250/)
})

test('hosts of one provider share its limits', async () => {
  await using held = await startSimnet({
    seed: 7,
    limits: { google: { maxConnections: 1, rcptPerMinute: 3 } },
  })
  const port = Number(held.settings['SMTP_PORT'])
  using first = await openSmtp(held.world.addressOf('gmail-smtp-in.l.google.com') ?? '', port)
  using second = await openSmtp(held.world.addressOf('alt1.gmail-smtp-in.l.google.com') ?? '', port)
  expect(second.banner).toMatch(/^421 4\.7\.0/)
  await first.say(...HELLO)
  const codes: string[] = []
  for (let i = 0; i < 5; i++)
    codes.push(((await first.say('RCPT TO:<zz@gmail.com>'))[0] ?? '').slice(0, 3))
  expect(codes).toEqual(['550', '550', '550', '450', '450'])
})

test('a refused connection is soon no longer counted as open', async () => {
  const domain = domainOf('blocked-banner')
  const socket = connect(Number(simnet.settings['SMTP_PORT']), hostOf(domain))
  const left = new Promise((done) => socket.once('close', done))
  socket.write(`${HELLO[0]}\r\n`)
  socket.resume().once('end', () => socket.end())
  await left
  const host = domain.mail.kind === 'mx' ? domain.mail.exchanges[0]?.host : undefined
  await expect.poll(() => simnet.counters.smtp.get(host ?? '')?.open).toBe(0)
})
