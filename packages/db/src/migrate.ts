import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { stateRules } from './batches/state-rules.ts'
import type { Db } from './database.ts'
import { hasState, SQLSTATE } from './sqlstate.ts'

/** An SQL file and its number. */
interface SqlFile {
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** Folders of SQL files: `migrations` run once each, `functions` again whenever they change. */
export interface SchemaFolders {
  readonly migrations: URL
  readonly functions: URL
}

const PACKAGED: SchemaFolders = {
  migrations: new URL('../migrations/', import.meta.url),
  functions: new URL('../functions/', import.meta.url),
}

/** Key of the advisory lock; any number that no other lock of the product uses. */
const LOCK = 7_586_205_101

/** Longest wait for the lock, and longest run of each file: six hours, in milliseconds. */
const LONGEST_MS = 6 * 3_600_000

/**
 * Lock time-out in milliseconds: while a file waits for a table lock, every statement on that table
 * waits behind it.
 */
const LOCK_TIMEOUT_MS = 3_000
const LOCK_TRIES = 10
const BETWEEN_TRIES_MS = 1_000
const LOCK_POLL_MS = 100

/**
 * Others have a lock that the file needs: a program that waits for one of the file's own locks
 * meanwhile makes a deadlock of that.
 */
const LOCKED_STATES = [SQLSTATE.lockNotAvailable, SQLSTATE.deadlockDetected] as const

/**
 * First line of a file whose statements run outside of a transaction, as `create index
 * concurrently` requires.
 */
const OUTSIDE = '-- outside a transaction'

/** The first file of the schema of development versions, which no release can upgrade. */
const BEFORE_BASELINE = '0101_accounts.sql'

/**
 * Upgrades the database: runs the missing migrations in the order of their numbers, then every file
 * of functions that has changed since it was applied. Any number of processes may call it at once:
 * one works, the others wait and find nothing to do.
 *
 * @returns the names of the files that were run
 * @throws if a migration that was run before has changed or is gone, if the database is older than
 * the first release, or if a table stays locked by others for about 40 seconds
 */
export async function migrate(db: Db, folders = PACKAGED): Promise<readonly string[]> {
  const migrations = await readMigrations(folders.migrations)
  const functions = await readFunctions(folders.functions)
  const client = await db.pool.connect()
  try {
    // The wait for another process and a migration of large tables may both take long.
    await client.query(`set statement_timeout = ${LONGEST_MS}`)
    await takeTurn(client)
    await client.query(`
      create table if not exists migrations (
        name text primary key,
        sha256 text not null,
        applied_at timestamptz not null default now());
      create table if not exists function_files (
        name text primary key,
        sha256 text not null,
        applied_at timestamptz not null default now())`)
    const pending = pendingOf(migrations, await digestsIn(client, 'migrations'))
    for (const file of pending) await runMigration(client, file)
    const applied = await digestsIn(client, 'function_files')
    const changed = functions.filter(({ name, sha256 }) => applied.get(name) !== sha256)
    for (const file of changed) await runInTransaction(client, file, 'function_files')
    await client.query('select pg_advisory_unlock($1)', [LOCK])
    await client.query('reset statement_timeout')
    client.release()
    return [...pending, ...changed].map(({ name }) => name)
  } catch (error) {
    // Ends the session, and with it the lock and any open transaction.
    client.release(true)
    throw error
  }
}

/**
 * Waits until no other process migrates. It polls: a statement that waits for a lock holds a
 * snapshot, which `create index concurrently` would wait for.
 */
async function takeTurn(client: pg.PoolClient): Promise<void> {
  const until = performance.now() + LONGEST_MS
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock($1) as taken',
      [LOCK],
    )
    if (rows[0]?.taken === true) return
    if (performance.now() > until) throw new Error('another process has migrated for six hours')
    await delay(LOCK_POLL_MS)
  }
}

/** A statement without the time-out of the driver: the server ends it. */
function withoutTimeOut(
  text: string,
  values?: unknown[],
): pg.QueryConfig & { query_timeout: number } {
  return { text, ...(values === undefined ? {} : { values }), query_timeout: LONGEST_MS }
}

/**
 * The migrations in the order of their numbers; gaps are allowed, duplicates are not.
 *
 * @throws if a name is not a unique number and words, as in `0001_accounts.sql`
 */
async function readMigrations(folder: URL): Promise<readonly SqlFile[]> {
  const files = await readFiles(folder)
  const seen = new Set<string>()
  for (const { name } of files) {
    const number = /^(\d{4})_[a-z_]+\.sql$/.exec(name)?.[1]
    if (number === undefined) {
      throw new Error(`expected a migration named NNNN_<words>.sql, got ${name}`)
    }
    if (seen.has(number)) throw new Error(`two migrations have the number ${number}`)
    seen.add(number)
  }
  return files
}

/** The files of functions, and the generated state rules. */
async function readFunctions(folder: URL): Promise<readonly SqlFile[]> {
  const files = [...(await readFiles(folder)), sqlFile('states', stateRules())]
  return files.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

async function readFiles(folder: URL): Promise<readonly SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => sqlFile(name, await readFile(new URL(name, folder), 'utf8'))),
  )
}

function sqlFile(name: string, sql: string): SqlFile {
  return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
}

type DigestTable = 'migrations' | 'function_files'

async function digestsIn(
  client: pg.PoolClient,
  table: DigestTable,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; sha256: string }>(
    `select name, sha256 from ${table}`,
  )
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
}

function pendingOf(
  migrations: readonly SqlFile[],
  applied: ReadonlyMap<string, string>,
): readonly SqlFile[] {
  if (applied.has(BEFORE_BASELINE)) {
    throw new Error(
      'the database was made by a version before 0.1.0, whose tables cannot be carried over: ' +
        'set DATABASE_URL to an empty database, or DATA_DIR to an empty directory',
    )
  }
  const known = new Map(migrations.map((migration) => [migration.name, migration.sha256]))
  for (const [name, sha256] of applied) {
    const now = known.get(name)
    if (now === undefined) {
      throw new Error(`the database has had migration ${name}, which this version does not know`)
    }
    if (now !== sha256) {
      throw new Error(
        `migration ${name} was run with SHA-256 ${sha256} and now has ${now}; ` +
          'files that were run must not change',
      )
    }
  }
  return migrations.filter((migration) => !applied.has(migration.name))
}

async function runMigration(client: pg.PoolClient, file: SqlFile): Promise<void> {
  if (!file.sql.startsWith(`${OUTSIDE}\n`)) return runInTransaction(client, file, 'migrations')
  try {
    await dropHalfBuilt(client, file)
    // One by one, as several statements in one message share a transaction. No lock time-out:
    // building an index concurrently waits for older transactions without blocking others, and
    // would be left invalid.
    for (const statement of file.sql.split(/;\s*(?:\n|$)/)) {
      if (statement.trim() !== '') await client.query(withoutTimeOut(statement))
    }
    await noteDigest(client, 'migrations', file)
  } catch (cause) {
    throw new Error(`migration ${file.name} failed: ${String(cause)}`, { cause })
  }
}

const BUILT_INDEX =
  /\bcreate\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)/gi

/**
 * Drops incomplete indexes that a killed run of a file left: an invalid index is maintained but
 * answers no query, and `if not exists` skips it. The backend of that run has ended, as this one
 * has its lock.
 */
async function dropHalfBuilt(client: pg.PoolClient, { sql }: SqlFile): Promise<void> {
  const names = [...sql.matchAll(BUILT_INDEX)].map(([, name = '']) => name.toLowerCase())
  const { rows } = await client.query<{ name: string }>(
    `select i.indexrelid::regclass::text as name
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where not i.indisvalid and c.relname = any($1) and pg_table_is_visible(c.oid)`,
    [names],
  )
  for (const { name } of rows) {
    await client.query(withoutTimeOut(`drop index concurrently if exists ${name}`))
  }
}

async function runInTransaction(
  client: pg.PoolClient,
  file: SqlFile,
  table: DigestTable,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin')
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await client.query(withoutTimeOut(file.sql))
      await noteDigest(client, table, file)
      await client.query('commit')
      return
    } catch (cause) {
      if (attempt === LOCK_TRIES || !hasState(cause, ...LOCKED_STATES)) {
        throw new Error(`migration ${file.name} failed: ${String(cause)}`, { cause })
      }
      await client.query('rollback')
      await delay(BETWEEN_TRIES_MS)
    }
  }
}

async function noteDigest(
  client: pg.PoolClient,
  table: DigestTable,
  { name, sha256 }: SqlFile,
): Promise<void> {
  await client.query(
    `insert into ${table} (name, sha256) values ($1, $2)
     on conflict (name) do update set sha256 = excluded.sha256, applied_at = now()`,
    [name, sha256],
  )
}
