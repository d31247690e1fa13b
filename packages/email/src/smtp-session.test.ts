import { createEgress } from '@plumbline/net/egress'
import { describe, expect, test, vi } from 'vitest'
import { startSmtp, type SmtpFixture, type SmtpScript } from './smtp-fixture.ts'
import { command, openSession, type Opened, type Session } from './smtp-session.ts'

const egress = createEgress({ allow: ['127.0.0.0/8'] })
const EACH = 10_000
const TIMES = {
  connectMs: EACH,
  greetingMs: EACH,
  commandMs: EACH,
  recipientMs: EACH,
  sessionMs: 60_000,
  openingMs: 60_000,
}

async function open(
  { port }: SmtpFixture,
  signal: AbortSignal = new AbortController().signal,
): Promise<Opened> {
  return await openSession({
    dial: () => egress.dial({ address: '127.0.0.1', port, timeoutMs: EACH, signal }),
    host: 'mx.test',
    heloName: 'verifier.sender.test',
    times: TIMES,
    signal,
  })
}

async function opened(smtp: SmtpFixture): Promise<Session> {
  const result = await open(smtp)
  if (result.kind !== 'open') throw new Error(`not open: ${JSON.stringify(result)}`)
  return result.session
}

const ask = (session: Session, recipients: readonly string[]): ReturnType<Session['ask']> =>
  session.ask({
    sender: 'verify@sender.test',
    recipients,
    begin: true,
    end: true,
    smtputf8: false,
    mayName: async () => true,
  })

describe('a server is told the end of a session', () => {
  test('that is closed', async () => {
    await using smtp = await startSmtp({})
    const session = await opened(smtp)
    session.close()
    await vi.waitFor(() => expect(smtp.lines).toEqual([expect.stringMatching(/^EHLO/), 'QUIT']))
    expect(session.usable).toBe(false)
  })

  test.each<[string, SmtpScript]>([
    ['whose greeting refuses it', { greeting: '554 no service' }],
    [
      'whose name it refuses',
      { command: (line) => (line.startsWith('EHLO') ? '550 no' : undefined) },
    ],
  ])('%s', async (_, script) => {
    await using smtp = await startSmtp(script)
    expect((await open(smtp)).kind).toBe('refused')
    await vi.waitFor(() => expect(smtp.lines.at(-1)).toBe('QUIT'))
  })
})

test('a server that only knows HELO is greeted by it', async () => {
  for (const code of [500, 501, 502, 504]) {
    await using smtp = await startSmtp({
      command: (line) => (line.startsWith('EHLO') ? `${code} unknown` : undefined),
    })
    const session = await opened(smtp)
    expect(session.tls).toBe(false)
    expect(smtp.lines[1]).toBe('HELO verifier.sender.test')
  }
})

test('after 421 no other recipient is named, and the session is not used again', async () => {
  for (const offers of [['PIPELINING'], ['SIZE']]) {
    await using smtp = await startSmtp({
      offers,
      recipient: (address) => (address.startsWith('b') ? '421 4.7.0 enough' : '250 ok'),
      command: (line) => (line === 'RSET' ? null : undefined),
    })
    const session = await opened(smtp)
    const all = ['a@d.test', 'b@d.test', ...(offers[0] === 'SIZE' ? ['c@d.test'] : [])]
    const asked = session.ask({
      sender: 'verify@sender.test',
      recipients: all,
      begin: true,
      end: false,
      smtputf8: false,
      mayName: async () => true,
    })
    expect((await asked).recipients.map(({ code }) => code)).toEqual([250, 421])
    expect(session.usable).toBe(false)
    expect(smtp.lines.join(' ')).not.toContain('c@d.test')
  }
})

test('a session whose server did not end the transaction is not used again', async () => {
  await using smtp = await startSmtp({
    command: (line) => (line === 'RSET' ? '503 no' : undefined),
  })
  const session = await opened(smtp)
  await session.reset()
  expect(session.usable).toBe(false)
  const other = await opened(smtp)
  await ask(other, ['a@d.test'])
  expect(other.usable).toBe(false)
})

test('a session that ended during STARTTLS is not opened again without TLS', async () => {
  const ended = new AbortController()
  await using smtp = await startSmtp({
    offers: ['STARTTLS'],
    command(line) {
      if (line !== 'STARTTLS') return undefined
      setImmediate(() => ended.abort())
      return '220 go'
    },
  })
  expect(await open(smtp, ended.signal)).toEqual({
    kind: 'failed',
    phase: 'starttls',
    fault: 'aborted',
  })
  expect(smtp.sessions.all).toBe(1)
})

test.each(['a\r\nDATA', 'a\nb', 'a\0b', 'a\x7fb'])(
  'no argument with a control character is sent: %j',
  (argument) => {
    expect(() => command('RCPT', argument)).toThrow('control character')
  },
)
