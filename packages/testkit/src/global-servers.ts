import { rm } from 'node:fs/promises'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { bundlePrograms } from './bundled-programs.ts'
import { isCi } from './ci.ts'
import { databaseUrl, onServer, servingUrlOf, TEMPLATE } from './postgres.ts'
import { startRedis } from './redis.ts'
import { makeServerDirectory } from './server-directory.ts'

/**
 * Starts one Postgres for the run of a test project and, if `redis-server` is installed, one Redis for
 * each test worker, and migrates the template database. With `CI=true` a missing Redis is a failure.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await makeServerDirectory()
  // Nothing here has to survive a power cut.
  const postgres = await startEmbeddedPostgres({
    dataDir: directory,
    settings: {
      // Databases are dropped before autovacuum would be of use, and it examines each of them.
      autovacuum: 'off',
      fsync: 'off',
      full_page_writes: 'off',
      max_connections: '400',
      max_wal_size: '512MB',
    },
  })
  // The tests of project `db` start no programs.
  if (project.name !== 'db') await bundlePrograms()
  const { maxWorkers } = project.config
  const started = await Promise.all(Array.from({ length: maxWorkers }, () => startRedis()))
  const servers = started.filter((server) => server !== null)
  if (servers.length === 0) {
    if (isCi()) throw new Error('redis-server is not installed, and CI=true')
    process.stderr.write('redis-server is not installed: the tests on Redis are skipped\n')
  }
  await makeTemplate(postgres.url)
  await hashPasswordsOnce(postgres.url, [postgres.url, servingUrlOf(postgres.url)])
  project.provide('TEST_DATABASE_URL', postgres.url)
  project.provide(
    'TEST_REDIS_URLS',
    servers.map(({ url }) => url),
  )
  return async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function makeTemplate(server: string): Promise<void> {
  await onServer(server, `create database ${TEMPLATE}`)
  {
    await using db = openDatabase({
      url: databaseUrl(server, TEMPLATE),
      poolSize: 1,
      applicationName: 'template',
    })
    await migrate(db)
    await migrateQueue(databaseUrl(server, TEMPLATE))
    await grantServing(db, servingUrlOf(server))
  }
  // A database with open connections cannot be copied.
  await onServer(server, `alter database ${TEMPLATE} with allow_connections false`)
}

/**
 * Sets the passwords of these URLs again with a single SCRAM iteration: a run opens some thousand
 * connections, and 4,096 iterations take 2 ms of each.
 */
async function hashPasswordsOnce(server: string, urls: readonly string[]): Promise<void> {
  const changes = urls.map((text) => {
    const { username, password } = new URL(text)
    const secret = pg.escapeLiteral(decodeURIComponent(password))
    return `alter role ${pg.escapeIdentifier(username)} password ${secret}`
  })
  await onServer(server, ['set scram_iterations = 1', ...changes].join(';'))
}
