import { QUEUE_NAMES } from '@plumbline/queue/names'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { backends } from '@plumbline/testkit/backends'
import { canRunPgBouncer, startPgBouncer } from '@plumbline/testkit/pgbouncer'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { openConnections, type Connections } from './connections.ts'

const log = {
  warn: () => undefined,
  error: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}

test.each(
  backends().map(({ name, redisUrl }) => {
    const most = redisUrl === undefined ? 12 : 6
    return { name, redisUrl, most }
  }),
)('on $name a process that serves every queue has at most $most connections', async (backend) => {
  await using database = await createTestDatabase()
  await migrateQueue(database.url)
  await using connections = await openConnections({
    databaseUrl: database.url,
    redisUrl: backend.redisUrl,
    redisPrefix: `test-${process.pid}`,
    name: 'counted',
    log,
  })
  await using stack = new AsyncDisposableStack()
  stack.use(await workOnEveryQueue(connections))
  await Promise.all(
    Array.from({ length: 100 }, () => connections.db.pool.query('select pg_sleep(0.01)')),
  )
  const { rows } = await connections.db.pool.query<{ count: number }>(
    `select count(*) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend'`,
  )
  expect(rows[0]?.count).toBeLessThanOrEqual(backend.most)
})

test('every queue is notified of jobs at once, also after its listening connection was lost', async () => {
  await using database = await createTestDatabase()
  await migrateQueue(database.url)
  const options = { databaseUrl: database.url, redisUrl: undefined, name: 'hears', log }
  await using connections = await openConnections(options)
  const seen: string[] = []
  await using stack = new AsyncDisposableStack()
  stack.use(await workOnEveryQueue(connections, (id) => seen.push(id)))
  await addToEvery(connections, 'before')
  await expect.poll(() => seen.length).toBe(QUEUE_NAMES.length)
  await connections.db.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'plumbline channel'`,
  )
  await addToEvery(connections, 'after')
  await expect.poll(() => seen.length).toBe(2 * QUEUE_NAMES.length)
})

// PgBouncer is Debian's: CI installs it, and fails if it is missing.
test.skipIf(!canRunPgBouncer())(
  'a pooler without its setting is reported with the settings to change',
  async () => {
    await using database = await createTestDatabase()
    await migrateQueue(database.url)
    await using pooler = await startPgBouncer(database.url)
    const through = pooler.urlOf(database.url)
    const open = async (databaseDirectUrl?: string): Promise<string> => {
      const options = { databaseUrl: through, databaseDirectUrl, redisUrl: undefined }
      await using connections = await openConnections({ ...options, name: 'pooled', log })
      await connections.queue.ping()
      return connections.queue.kind
    }
    await expect(open()).rejects.toThrow(/set DATABASE_URL to the pooler and DATABASE_DIRECT_URL/)
    expect(await open(database.url)).toBe('postgres')
  },
)

/** Takes jobs from every queue, as a worker of all kinds does. */
async function workOnEveryQueue(
  { queue }: Connections,
  onJob: (id: string) => void = () => undefined,
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  for (const name of QUEUE_NAMES) {
    const consumer = await queue.consumer({
      name,
      concurrency: 4,
      lockMs: 30_000,
      stalledMs: 30_000,
      process: async ({ id }) => onJob(id),
      onError: () => undefined,
    })
    stack.defer(() => consumer.close())
  }
  return stack.move()
}

async function addToEvery({ queue }: Connections, word: string): Promise<void> {
  await Promise.all(
    QUEUE_NAMES.map(async (name) => {
      const producer = await queue.producer(name)
      await producer.add([{ id: `${word}-${name}`, data: {} }])
    }),
  )
}
