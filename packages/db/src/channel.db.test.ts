import { once } from 'node:events'
import { createServer } from 'node:net'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import { openTestDatabase } from '@plumbline/testkit/database'
import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test, vi } from 'vitest'
import { createPostgresReplyChannel } from './channel-replies.ts'
import { openPostgresChannel } from './channel.ts'
import { openDatabase } from './database.ts'

test('a connection that receives nothing any more, without being reset, is replaced', async () => {
  await using database = await createTestDatabase()
  await using proxy = await openLossyProxy(database.url)
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const errors: unknown[] = []
  await using channel = openPostgresChannel({
    db,
    url: proxy.url,
    onError: (error) => errors.push(error),
    tryMs: 1_000,
  })
  let renewals = 0
  channel.onRenewed(() => (renewals += 1))
  const heard = new Set<string>()
  await channel.subscribe('news', (message) => heard.add(message))
  const untilHeard = async (message: string): Promise<void> => {
    await vi.waitFor(async () => {
      await channel.publish('news', [message])
      expect(heard).toContain(message)
    }, PATIENT)
  }
  await untilHeard('before')
  const renewalsBefore = renewals
  proxy.loseAll()
  await vi.waitFor(() => expect(renewals).toBeGreaterThan(renewalsBefore), PATIENT)
  await untilHeard('after')
  expect(errors.length).toBeGreaterThan(0)
})

test('replies are sent and fetched over another connection if theirs receives nothing any more', async () => {
  await using database = await createTestDatabase()
  await using proxy = await openLossyProxy(database.url)
  await using near = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  await using far = openDatabase({ url: proxy.url, poolSize: 1, applicationName: 'test' })
  await using channel = openPostgresChannel({ db: near, url: database.url, onError: () => {} })
  const replyChannel = createPostgresReplyChannel(far, channel, 500)
  const heard = new Set<string>()
  await using replies = await replyChannel.listen('me', (reply) => heard.add(reply))
  const untilHeard = async (reply: string): Promise<void> => {
    await withTimeOut(CLOSED_MS, replyChannel.send('me', [reply]))
    await vi.waitFor(() => expect(heard).toContain(reply), PATIENT)
  }
  await untilHeard('first')
  proxy.loseAll()
  await untilHeard('second')
  proxy.loseAll()
  await expect(withTimeOut(CLOSED_MS, replies.acknowledge())).rejects.toThrow('Query read timeout')
  await untilHeard('third')
  proxy.loseAll()
  await expect(withTimeOut(CLOSED_MS, replies.fetchMissed())).rejects.toThrow('Query read timeout')
  await vi.waitFor(() => replies.fetchMissed(), PATIENT)
})

/** Milliseconds after which closing waits too long for the server: its own limit is a second. */
const CLOSED_MS = 8_000

async function expectClosed(closing: AsyncDisposable): Promise<void> {
  await expect(withTimeOut(CLOSED_MS, closing[Symbol.asyncDispose]())).resolves.toBeUndefined()
}

test('closing does not wait for a server that does not reply', async () => {
  await using database = await createTestDatabase()
  await using stack = new AsyncDisposableStack()
  const proxy = await openLossyProxy(database.url)
  const db = stack.use(openDatabase({ url: proxy.url, poolSize: 1, applicationName: 'test' }))
  // Closed first, so that the pool need not wait for its connection.
  stack.use(proxy)
  const channel = openPostgresChannel({ db, url: proxy.url, onError: () => undefined })
  const replies = await createPostgresReplyChannel(db, channel).listen('me', () => undefined)
  const subscription = await channel.subscribe('news', () => undefined)
  await replies.fetchMissed()
  proxy.loseAll()
  await expectClosed(replies)
  await expectClosed(subscription)
  await expectClosed(channel)
})

test('closing does not wait for a server that accepts a connection and sends nothing', async () => {
  await using db = await openTestDatabase(1)
  await using server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  const connected = once(server, 'connection')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const url = `postgres://nobody@127.0.0.1:${port}/nothing`
  const channel = openPostgresChannel({ db, url, onError: () => undefined })
  const subscribed = channel.subscribe('news', () => undefined).catch((error: unknown) => error)
  const [socket] = await connected
  try {
    await expectClosed(channel)
    expect(await subscribed).toMatchObject({ name: 'AbortError' })
  } finally {
    socket.destroy()
  }
})
