import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { openDatabase, type Db } from '@plumbline/db/database'
import { queueMail, type Sealer } from '@plumbline/mail/outbox'
import { startMailSender } from '@plumbline/mail/sender'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { SMTPServer } from 'smtp-server'
import { expect, test } from 'vitest'

const PLAIN: Sealer = { encrypt: (value) => value, decrypt: (value) => value }

/** A mail server whose replies a test chooses, and the messages that it accepted. */
interface Server extends AsyncDisposable {
  readonly url: string
  readonly messages: { readonly to: string; readonly id: string }[]
  /** The refusal of a sender or recipient. */
  refusal: { readonly command: 'MAIL' | 'RCPT'; readonly error: Error } | undefined
  /** Awaited before a message is accepted. */
  beforeAccepting: (to: string) => Promise<void>
}

async function openServer(): Promise<Server> {
  const state: Pick<Server, 'refusal' | 'beforeAccepting' | 'messages'> = {
    refusal: undefined,
    beforeAccepting: async () => undefined,
    messages: [],
  }
  const refusalOf = (command: 'MAIL' | 'RCPT'): Error | undefined =>
    state.refusal?.command === command ? state.refusal.error : undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom: (_address, _session, done) => done(refusalOf('MAIL')),
    onRcptTo: (_address, _session, done) => done(refusalOf('RCPT')),
    onData: (stream, session, done) => {
      void (async () => {
        const id = /^Message-ID: (.*)$/im.exec(await text(stream))?.[1]?.trim() ?? ''
        const to = session.envelope.rcptTo[0]?.address ?? ''
        await state.beforeAccepting(to)
        state.messages.push({ to, id })
        done()
      })()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  // Safe because it listens on TCP.
  const { port } = server.server.address() as AddressInfo
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  })
}

async function openOutbox(server: Server) {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(
    openDatabase({ url: database.url, poolSize: 4, applicationName: 'mail-test' }),
  )
  const log: string[] = []
  const tell = (_fields: object, message: string): void => void log.push(message)
  stack.use(
    startMailSender({
      db,
      sealer: PLAIN,
      url: server.url,
      from: 'Plumbline <no-reply@service.example>',
      log: { warn: tell, error: tell },
    }),
  )
  const owned = stack.move()
  return { db, log, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function queueReset(db: Db, to: string): Promise<void> {
  await queueMail(db, PLAIN, { kind: 'reset', to, name: 'Ada', link: 'https://a.example/#secret' })
}

test.each([
  ['MAIL', 530, '5.7.0 Authentication required'],
  ['MAIL', 550, '5.7.60 This client may not send as this sender'],
  ['RCPT', 530, '5.7.1 Authentication required'],
  ['RCPT', 554, '5.7.1 <ada@a.example>: Relay access denied'],
] as const)(
  'a message waits while the mail server refuses us: %s gets %i %s',
  async (command, responseCode, said) => {
    await using server = await openServer()
    server.refusal = { command, error: Object.assign(new Error(said), { responseCode }) }
    await using outbox = await openOutbox(server)
    const { db, log } = outbox
    await queueReset(db, 'ada@a.example')
    await expect.poll(() => log.length).toBeGreaterThan(0)
    expect(log).toEqual(['a message could not be sent'])
    server.refusal = undefined
    await db.pool.query('update mails set next_at = now()')
    await expect.poll(() => server.messages).toMatchObject([{ to: 'ada@a.example' }])
  },
)

test('a message that takes the number of one under way, as after a failover, is sent, too', async () => {
  await using server = await openServer()
  await using outbox = await openOutbox(server)
  const { db } = outbox
  const [first, second] = ['ada@a.example', 'grace@a.example']
  const underWay = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  server.beforeAccepting = async (to) => {
    if (to !== first) return
    underWay.resolve()
    await released.promise
  }
  await queueReset(db, first)
  await underWay.promise
  // The standby has neither the message nor its number.
  await db.pool.query('delete from mails')
  await db.pool.query('alter table mails alter id restart')
  await queueReset(db, second)
  released.resolve()
  await expect.poll(() => server.messages).toMatchObject([{ to: first }, { to: second }])
  const ids = server.messages.map(({ id }) => id)
  expect(new Set(ids).size).toBe(2)
  expect(ids[0]).toMatch(/^<plumbline\.[\w-]+@service\.example>$/)
})
