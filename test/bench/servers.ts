import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { startRedis } from '@plumbline/testkit/redis'

/** Postgres and Redis for a benchmark, durable as in production. */
export interface BenchServers extends AsyncDisposable {
  readonly databaseUrl: string
  readonly redisUrl: string
}

/** Starts the packaged Postgres and the installed Redis. @throws if Redis is not installed */
export async function startServers(): Promise<BenchServers> {
  await using stack = new AsyncDisposableStack()
  const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-bench-'))).path
  const postgres = await startEmbeddedPostgres({ dataDir })
  stack.defer(() => postgres.stop())
  const redis = await startRedis()
  if (redis === null) throw new Error('benchmarks need redis-server (apt install redis-server)')
  stack.defer(() => redis.stop())
  const owned = stack.move()
  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Creates a database on a server; returns its URL. */
export async function createDatabase(server: string, name: string): Promise<string> {
  await using db = openDatabase({ url: server, poolSize: 1, applicationName: 'bench' })
  await db.pool.query(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
