import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** Name of the database that is migrated once and copied for every test. */
export const TEMPLATE = 'plumbline_template'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the test run's Postgres; its user may create databases. */
    TEST_DATABASE_URL: string
    /** URL of a Redis for each test worker; empty if redis-server is not installed. */
    TEST_REDIS_URLS: readonly string[]
  }
}

/** A database for one test, dropped when disposed of. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
}

/** Copies the migrated template: `await using database = await createTestDatabase()`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return await createFrom(TEMPLATE)
}

/** Creates an empty database. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return await createFrom('template0')
}

async function createFrom(template: string): Promise<TestDatabase> {
  const server = inject('TEST_DATABASE_URL')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(server, `create database ${name} template ${template} strategy file_copy`)
  return {
    url: databaseUrl(server, name),
    [Symbol.asyncDispose]: () => onServer(server, `drop database if exists ${name} with (force)`),
  }
}

/** Runs one statement in the server's own database, outside of any transaction. */
export async function onServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(server, 'postgres') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** The URL of the same database with the serving role, which `grantServing` creates if it is missing. */
export function servingUrlOf(ownerUrl: string): string {
  const url = new URL(ownerUrl)
  url.username = 'test_serving'
  url.password = 'a password of tests'
  return url.href
}

/** The URL of another database of the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
