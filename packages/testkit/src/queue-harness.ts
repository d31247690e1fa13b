import { randomBytes } from 'node:crypto'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '@plumbline/db/database'
import { losePostgresQueue } from './lose-queue.ts'
import { createTestDatabase } from './postgres.ts'
import { openPostgresTestQueue, openRedisTestQueue, type TestQueue } from './queue.ts'
import { startRedis } from './redis.ts'

/** A queue in which a test may cause faults. */
export interface QueueHarness extends AsyncDisposable {
  /** Opens another client of the queue, as another process would. */
  open(): Promise<TestQueue>
  /** Starts a worker process; see `queue-worker.ts`. */
  startWorker(mode: 'answer' | 'hold'): Promise<WorkerProcess>
  /** Deletes all jobs; on Redis all other data, too. */
  empty(): Promise<void>
  /** Breaks all connections to the server. */
  cut(): Promise<void>
}

/** A worker in a process of its own. */
export interface WorkerProcess extends AsyncDisposable {
  /** Resolves when the worker sends this message. */
  receives(message: string): Promise<void>
  kill(): Promise<void>
}

/** Starts a Redis server for one test. @throws if Redis is not installed */
export async function openRedisHarness(): Promise<QueueHarness> {
  const server = await startRedis()
  if (server === null) throw new Error('redis-server is not installed')
  const prefix = `test-${randomBytes(4).toString('hex')}`
  return {
    open: () => openRedisTestQueue(server.url, prefix),
    startWorker: (mode) => startWorker([mode, server.url, prefix]),
    async empty() {
      await using queue = await openRedisTestQueue(server.url, prefix)
      await queue.backend.redis?.commands.flushall()
    },
    async cut() {
      await using queue = await openRedisTestQueue(server.url, prefix)
      for (const type of ['PUBSUB', 'NORMAL'] as const) {
        await queue.backend.redis?.commands.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
      }
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** Creates a database for one test. */
export async function openPostgresHarness(): Promise<QueueHarness> {
  const database = await createTestDatabase()
  return {
    open: () => openPostgresTestQueue(database.url),
    startWorker: (mode) => startWorker([mode, database.url]),
    empty: () => losePostgresQueue(database.url),
    async cut() {
      await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
      await db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      )
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

/** Starts a worker process; the arguments are those of `queue-worker.ts`. */
export async function startWorker(args: readonly string[]): Promise<WorkerProcess> {
  const child = fork(fileURLToPath(new URL('./queue-worker.ts', import.meta.url)), args, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const received = new Set<unknown>()
  child.on('message', (message) => received.add(message))
  async function receives(message: string): Promise<void> {
    while (!received.has(message)) {
      if (child.exitCode !== null) throw new Error(`the worker ended with ${child.exitCode}`)
      await Promise.race([once(child, 'message'), exited])
    }
  }
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  await receives('ready')
  return { receives, kill, [Symbol.asyncDispose]: kill }
}
