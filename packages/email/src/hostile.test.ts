import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ask, brief, outcomeOf, testEngine, zoneOf } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'
import type { SmtpScript } from './smtp-fixture.ts'

type Command = NonNullable<SmtpScript['command']>

/** Writes as long as the peer reads. */
function flood(socket: Socket, chunk: string): void {
  const bytes = Buffer.from(chunk)
  const write = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', write)
  write()
}

/** Writes one character at intervals. */
function drip(socket: Socket, text: string): void {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) clearInterval(timer)
    else socket.write(text[at++] ?? '')
  }, 20)
  socket.on('close', () => clearInterval(timer))
}

const at =
  (verb: string, reply: string | null): Command =>
  (line) =>
    line.toUpperCase().startsWith(verb) ? reply : undefined

const closeAt =
  (verb: string): Command =>
  (line, session) => {
    if (!line.toUpperCase().startsWith(verb)) return undefined
    session.socket.destroy()
    return null
  }

const floodAt =
  (verb: string, chunk: string): Command =>
  (line, session) => {
    if (!line.toUpperCase().startsWith(verb)) return undefined
    flood(session.socket, chunk)
    return null
  }

const slow = { offers: ['SIZE'] }

/** Name of the case, script of the server, and the expected reason where it is certain. */
const CASES: readonly (readonly [name: string, script: SmtpScript, reason?: string])[] = [
  ['no banner', { greeting: null }, 'timeout'],
  ['a banner that drips', { raw: (socket) => drip(socket, '220 '.padEnd(2000, 'x')) }, 'timeout'],
  [
    'an endless banner line',
    { raw: (socket) => flood(socket, 'x'.repeat(65_536)) },
    'protocol_error',
  ],
  [
    'an endless banner of good lines',
    { raw: (socket) => flood(socket, '220-still here\r\n'.repeat(4096)) },
    'protocol_error',
  ],
  ['a banner of NULs', { raw: (socket) => flood(socket, '\0'.repeat(4096)) }, 'protocol_error'],
  ['a NUL inside the banner', { greeting: '220 a\0b' }],
  ['a banner without a code', { greeting: 'hello' }, 'protocol_error'],
  [
    'a banner of another protocol',
    { raw: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') },
    'protocol_error',
  ],
  ['an SSH banner', { raw: (socket) => socket.write('SSH-2.0-OpenSSH_9\r\n') }, 'protocol_error'],
  ['a code of four digits', { greeting: '2200 hi' }, 'protocol_error'],
  ['a 1xx banner', { greeting: '120 wait' }, 'protocol_error'],
  ['a banner of mixed codes', { greeting: '220-a\r\n221 b' }, 'protocol_error'],
  ['two banners', { greeting: '220 a\r\n220 b' }, 'protocol_error'],
  ['421 as a banner', { greeting: '421 4.3.2 try later' }, 'server_error'],
  ['554 as a banner', { greeting: '554 no SMTP service here' }, 'blocked'],
  ['550 user unknown as a banner', { greeting: '550 5.1.1 User unknown' }, 'blocked'],
  ['a connection closed at once', { raw: (socket) => socket.destroy() }, 'protocol_error'],
  ['a connection reset', { raw: (socket) => socket.resetAndDestroy() }],
  ['closed at EHLO', { command: closeAt('EHLO') }, 'protocol_error'],
  ['EHLO without an answer', { command: at('EHLO', null) }, 'timeout'],
  ['550 user unknown at EHLO', { command: at('EHLO', '550 5.1.1 User unknown') }, 'blocked'],
  [
    'EHLO answered by endless lines',
    { command: floodAt('EHLO', '250-X\r\n'.repeat(8192)) },
    'protocol_error',
  ],
  [
    'EHLO answered by a gigabyte of one line',
    { command: floodAt('EHLO', 'A'.repeat(1 << 20)) },
    'protocol_error',
  ],
  [
    'EHLO and HELO unknown',
    { command: (line) => (/^(EHLO|HELO)/.test(line) ? '502 5.5.1 what' : undefined) },
    'blocked',
  ],
  ['closed at MAIL', { command: closeAt('MAIL'), ...slow }, 'protocol_error'],
  ['550 user unknown at MAIL', { command: at('MAIL', '550 5.1.1 User unknown') }, 'blocked'],
  ['451 at MAIL', { command: at('MAIL', '451 4.3.0 not now') }, 'server_error'],
  ['MAIL without an answer', { command: at('MAIL', null) }, 'timeout'],
  ['MAIL answered twice', { command: at('MAIL', '250 ok\r\n550 5.1.1 User unknown') }],
  ['closed at RCPT', { command: closeAt('RCPT') }, 'protocol_error'],
  [
    'reset at RCPT',
    {
      command: (line, session) =>
        line.startsWith('RCPT') ? (session.socket.resetAndDestroy(), null) : undefined,
    },
    'protocol_error',
  ],
  ['RCPT without an answer', { recipient: () => null, ...slow }, 'timeout'],
  ['RCPT answered by garbage', { recipient: () => '\u0001\u0002\u0003' }, 'protocol_error'],
  [
    'RCPT answered by a dripping line',
    {
      command: (line, session) =>
        line.startsWith('RCPT')
          ? (drip(session.socket, '550 5.1.1 User unknown'.padEnd(500, '.')), null)
          : undefined,
    },
    'timeout',
  ],
  [
    'RCPT answered by an endless multi-line',
    { command: floodAt('RCPT', '550-5.1.1 User unknown\r\n'.repeat(2048)) },
    'protocol_error',
  ],
  ['RCPT answered by 354', { recipient: () => '354 go ahead' }, 'unclassified_reply'],
  ['RCPT answered by 299', { recipient: () => '299 hm' }, 'unclassified_reply'],
  ['RCPT answered by 252', { recipient: () => '252 2.5.2 cannot verify' }, 'unclassified_reply'],
  ['RCPT answered by 421', { recipient: () => '421 4.7.0 closing' }, 'blocked'],
  [
    'RCPT answered by 554 blocked',
    { recipient: () => '554 5.7.1 Client host blocked using zen.spamhaus.org' },
    'blocked',
  ],
  [
    'RCPT answered by a code with a wrong separator',
    { recipient: () => '550_5.1.1 User unknown' },
    'protocol_error',
  ],
  ['RCPT answered by a bare 550', { recipient: () => '550' }, 'unclassified_reply'],
  [
    'RCPT answered by mixed codes',
    { recipient: () => '250-ok\r\n550 5.1.1 User unknown' },
    'protocol_error',
  ],
  ['RCPT answered twice, in two minds', { recipient: () => '550 5.1.1 User unknown\r\n250 ok' }],
  [
    'STARTTLS offered, TLS is garbage',
    {
      offers: ['STARTTLS'],
      command: (line, session) =>
        line === 'STARTTLS'
          ? (session.socket.write('220 go\r\n'),
            session.socket.write('garbage garbage garbage\r\n'),
            null)
          : undefined,
      recipient: () => '451 4.3.0 later',
    },
    'server_error',
  ],
  [
    'STARTTLS offered and refused',
    {
      offers: ['STARTTLS'],
      command: at('STARTTLS', '454 4.7.0 not now'),
      recipient: () => '451 4.3.0 later',
    },
    'server_error',
  ],
  [
    'STARTTLS offered, then silence',
    { offers: ['STARTTLS'], command: at('STARTTLS', '220 go'), recipient: () => '451 4.3.0 later' },
    'server_error',
  ],
  [
    'STARTTLS offered, then closed',
    { offers: ['STARTTLS'], command: closeAt('STARTTLS'), recipient: () => '451 4.3.0 later' },
    'server_error',
  ],
  [
    'a reply injected before TLS',
    {
      offers: ['STARTTLS'],
      command: at('STARTTLS', '220 go\r\n250 injected'),
      recipient: () => '451 4.3.0 later',
    },
    'server_error',
  ],
]

describe('hostile mail servers', () => {
  for (const [name, script, reason] of CASES) {
    test(`${name}: answered within the deadline, never invalid`, async () => {
      await using smtp = await startSmtp(script)
      await using engine = testEngine(smtp.port, zoneOf({ 'hostile.test': '127.0.0.1' }))
      const beganMs = performance.now()
      const outcome = outcomeOf((await ask(engine, ['ada@hostile.test'], { depth: 'extended' }))[0])
      // A session may last 2 s; the caller would wait for 30.
      expect(performance.now() - beganMs).toBeLessThan(20_000)
      expect(outcome.facts.mailbox === 'missing' || outcome.status === 'undeliverable').toBe(false)
      expect(outcome.reason).toBe(reason ?? outcome.reason)
      expect(smtp.lines.some((line) => /^DATA|^BDAT/i.test(line))).toBe(false)
    })
  }
})

test.each([
  { what: 'with pipelining', offers: ['PIPELINING'] },
  { what: 'without', offers: [] },
])('a session whose RSET is refused takes no other transaction, $what', async ({ offers }) => {
  const begun = new WeakSet<object>()
  await using server = await startSmtp({
    offers,
    command(line, session) {
      if (line === 'RSET') return '500 5.5.1 not known'
      if (!line.startsWith('MAIL')) return undefined
      const reply = begun.has(session) ? '503 5.5.1 nested MAIL' : '250 2.1.0 ok'
      begun.add(session)
      return reply
    },
  })
  await using engine = testEngine(server.port, zoneOf({ 'a.test': '127.0.0.1' }))
  for (const local of ['one', 'two', 'three', 'four']) {
    expect(brief((await ask(engine, [`${local}@a.test`]))[0])).toBe('deliverable accepted')
  }
})

test.each([
  { what: 'with pipelining', offers: ['PIPELINING'] },
  { what: 'without', offers: [] },
])(
  'a MAIL that was refused is ended before the next, also in an extended check, $what',
  async (each) => {
    const begun = new WeakSet<object>()
    let refused = 0
    await using server = await startSmtp({
      offers: each.offers,
      command(line, session) {
        if (line === 'RSET') begun.delete(session)
        if (!line.startsWith('MAIL')) return undefined
        if (begun.has(session)) return '503 5.5.1 nested MAIL'
        begun.add(session)
        return refused++ === 0 ? '451 4.3.0 try again' : '250 2.1.0 ok'
      },
    })
    await using engine = testEngine(server.port, zoneOf({ 'a.test': '127.0.0.1' }))
    const asked = async (local: string): Promise<unknown> =>
      brief((await ask(engine, [`${local}@a.test`], { depth: 'extended' }))[0])
    expect(await asked('one')).toBe('unknown server_error')
    expect(await asked('two')).toBe('risky accept_all')
  },
)
