import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import type { TestProject } from 'vitest/node'
import { databaseUrl, onServer, servingUrlOf, TEMPLATE } from './postgres.ts'

/** What a server started for the run is to the set-up. */
interface TestServer {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts one Postgres and, where its binary is installed, one Redis for the whole run, and migrates
 * the template database. With `CI=true` a missing Redis is a failure.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'plumbline-test-'))
  // Nothing here has to survive a power cut.
  const postgres = await startEmbeddedPostgres({
    dataDir: directory,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '400' },
  })
  const redis = await startRedis()
  if (redis === null) {
    if (process.env['CI'] === 'true') throw new Error('redis-server is not installed, and CI=true')
    process.stderr.write('redis-server is not installed: the tests on Redis are skipped\n')
  }
  await makeTemplate(postgres.url)
  project.provide('TEST_DATABASE_URL', postgres.url)
  project.provide('TEST_REDIS_URL', redis?.url ?? null)
  return async () => {
    await redis?.stop()
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
    await grantServing(db, servingUrlOf(server))
  }
  // A database that somebody is connected to cannot be copied.
  await onServer(server, `alter database ${TEMPLATE} with allow_connections false`)
}

async function startRedis(): Promise<TestServer | null> {
  const file = new URL('./redis.ts', import.meta.url)
  if (!existsSync(file)) return null
  const support: { startRedis: () => Promise<TestServer | null> } = await import(file.href)
  return support.startRedis()
}
