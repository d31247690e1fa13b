import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { startRedis } from '@plumbline/testkit/redis'
import type { Figure } from './figure.ts'

/** The packaged Postgres for a benchmark, durable as in production, and the folder of its data. */
export interface BenchPostgres extends AsyncDisposable {
  readonly url: string
  readonly dir: string
}

/** Starts it, with settings of the server beside its usual ones. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchPostgres> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-bench-'))).path
  const postgres = await startEmbeddedPostgres({ dataDir: dir, settings })
  stack.defer(() => postgres.stop())
  const owned = stack.move()
  return { url: postgres.url, dir, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Postgres and Redis for a benchmark, durable as in production. */
export interface BenchServers extends AsyncDisposable {
  readonly databaseUrl: string
  readonly redisUrl: string
}

/** Starts the packaged Postgres and the installed Redis. @throws if Redis is not installed */
export async function startServers(): Promise<BenchServers> {
  await using stack = new AsyncDisposableStack()
  const postgres = stack.use(await startPostgres())
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

/** A backend of the queue, and the servers with which a service is on it. */
export interface BenchBackend {
  readonly name: 'redis' | 'embedded'
  readonly stores: { readonly databaseUrl: string; readonly redisUrl: string | undefined }
}

/** Measures on both backends of the queue, one after the other, each with a database of its own. */
export async function onBothBackends(
  measure: (backend: BenchBackend) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  await using servers = await startServers()
  const figures: Figure[] = []
  for (const name of ['redis', 'embedded'] as const) {
    const databaseUrl = await createDatabase(servers.databaseUrl, name)
    const redisUrl = name === 'redis' ? servers.redisUrl : undefined
    figures.push(...(await measure({ name, stores: { databaseUrl, redisUrl } })))
  }
  return figures
}

/** Stores beside those of a backend, for a further service: their `REDIS_PREFIX` must be another. */
export async function moreStores(
  { name: backend, stores }: BenchBackend,
  name: string,
): Promise<BenchBackend['stores']> {
  return { ...stores, databaseUrl: await createDatabase(stores.databaseUrl, `${backend}_${name}`) }
}

/** Creates a database on a server; returns its URL. */
export async function createDatabase(server: string, name: string): Promise<string> {
  await using db = openDatabase({ url: server, poolSize: 1, applicationName: 'bench' })
  await db.pool.query(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
