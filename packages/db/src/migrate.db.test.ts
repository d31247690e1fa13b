import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openTestDatabase } from '@plumbline/testkit/database'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase, databaseUrl, onServer } from '@plumbline/testkit/postgres'
import { expect, inject, test } from 'vitest'
import { openDatabase, type Db } from './database.ts'
import { migrate, type SchemaFolders } from './migrate.ts'

const PLANS =
  'create table plans (plan text primary key, monthly_credits bigint not null);\n' +
  `insert into plans values ('free', 200);\n`
const TABLES =
  'create table batches (id text, status text);\n' +
  'create table tasks (id bigint, lease integer, lease_until timestamptz, group_key text);\n'

/** An empty database, and empty folders for SQL files. */
async function openEmpty(): Promise<
  AsyncDisposable & {
    readonly db: Db
    readonly url: string
    readonly folders: SchemaFolders
    write(folder: keyof SchemaFolders, name: string, sql: string): Promise<void>
  }
> {
  const server = inject('TEST_DATABASE_URL')
  const name = `test_empty_${crypto.randomUUID().slice(0, 8)}`
  await onServer(server, `create database ${name}`)
  const url = databaseUrl(server, name)
  const db = openDatabase({ url, poolSize: 2, applicationName: 'test' })
  const roots = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'plumbline-sql-'))))
  const [migrations = '', functions = ''] = roots
  const write = (folder: keyof SchemaFolders, file: string, sql: string): Promise<void> =>
    writeFile(join({ migrations, functions }[folder], file), sql)
  await write('migrations', '0001_base.sql', PLANS + TABLES)
  return {
    db,
    url,
    folders: {
      migrations: pathToFileURL(`${migrations}/`),
      functions: pathToFileURL(`${functions}/`),
    },
    write,
    [Symbol.asyncDispose]: async () => {
      await db[Symbol.asyncDispose]()
      await Promise.all(roots.map((root) => rm(root, { recursive: true })))
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}

test('a database from before the first release is refused with instructions', async () => {
  await using db = await openTestDatabase(1)
  await db.pool.query("insert into migrations (name, sha256) values ('0101_accounts.sql', 'x')")
  await expect(migrate(db)).rejects.toThrow(
    'set DATABASE_URL to an empty database, or DATA_DIR to an empty directory',
  )
})

test('a function is applied again when its file changes, and only then', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  const answer = (value: number): Promise<void> =>
    write(
      'functions',
      'answer.sql',
      `create or replace function answer() returns integer language sql as 'select ${value}'`,
    )
  await answer(1)
  expect(await migrate(db, folders)).toEqual(['0001_base.sql', 'answer.sql', 'states'])
  expect(await migrate(db, folders)).toEqual([])
  await answer(2)
  expect(await migrate(db, folders)).toEqual(['answer.sql'])
  expect((await db.pool.query('select answer()')).rows).toEqual([{ answer: 2 }])
})

test('a file that is marked runs outside a transaction, the others in one', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  await migrate(db, folders)
  const statements =
    'drop index concurrently if exists plans_by_credits;\n' +
    'create index concurrently plans_by_credits on plans (monthly_credits);\n'
  await write('migrations', '0002_index.sql', statements)
  await expect(migrate(db, folders)).rejects.toThrow(/0002_index\.sql failed: .*transaction block/)
  await write('migrations', '0002_index.sql', `-- outside a transaction\n${statements}`)
  expect(await migrate(db, folders)).toEqual(['0002_index.sql'])
  expect(await validityOf(db, 'plans_by_credits')).toEqual([{ indisvalid: true }])
})

test('an index whose build was killed is rebuilt by the next run', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  await migrate(db, folders)
  await write(
    'migrations',
    '0002_index.sql',
    '-- outside a transaction\n' +
      'create index concurrently if not exists plans_by_credits on plans (monthly_credits);\n',
  )
  // The build waits for open transactions that have written to the table.
  await using holder = openDatabase({ url: empty.url, poolSize: 1, applicationName: 'test' })
  const held = await holder.pool.connect()
  await held.query('begin; update plans set monthly_credits = 300')
  const killed = migrate(db, folders).catch(String)
  await expect
    .poll(async () => {
      const { rowCount } = await db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and query like '%create index concurrently%'
           and wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
      )
      return rowCount
    }, PATIENT)
    .toBe(1)
  expect(await killed).toContain('0002_index.sql failed')
  await held.query('commit')
  held.release()
  expect(await validityOf(db, 'plans_by_credits')).toEqual([{ indisvalid: false }])
  expect(await migrate(db, folders)).toEqual(['0002_index.sql'])
  expect(await validityOf(db, 'plans_by_credits')).toEqual([{ indisvalid: true }])
})

async function validityOf(db: Db, index: string): Promise<readonly unknown[]> {
  const { rows } = await db.pool.query(
    'select indisvalid from pg_index where indexrelid = $1::regclass',
    [index],
  )
  return rows
}

test('a migration releases a table that others have locked, and tries again', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  await migrate(db, folders)
  await using holder = openDatabase({ url: empty.url, poolSize: 1, applicationName: 'test' })
  const held = await holder.pool.connect()
  await held.query('begin; lock table plans in access share mode')
  await write('migrations', '0002_column.sql', 'alter table plans add column name text')
  const migrated = migrate(db, folders)
  // Longer than one wait for a lock; a read that arrived meanwhile is served between two attempts.
  await held.query('select pg_sleep(3.5)')
  expect((await db.pool.query('select plan from plans')).rows).not.toHaveLength(0)
  await held.query('commit')
  held.release()
  expect(await migrated).toEqual(['0002_column.sql'])
})

test('a migration that a deadlock ends is tried again', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  await migrate(db, folders)
  await using holder = openDatabase({ url: empty.url, poolSize: 1, applicationName: 'test' })
  const held = await holder.pool.connect()
  await held.query(`begin; set local deadlock_timeout = '1min'; lock table tasks in share mode`)
  const columns = ['plans', 'tasks'].map((table) => `alter table ${table} add column name text;\n`)
  await write('migrations', '0002_columns.sql', columns.join(''))
  const migrated = migrate(db, folders)
  await expect
    .poll(async () => {
      const waiting = `select from pg_locks where not granted and relation = 'tasks'::regclass`
      return (await db.pool.query(waiting)).rowCount
    }, PATIENT)
    .toBe(1)
  // A running program reads the tables in the other order.
  expect((await held.query('select plan from plans')).rows).not.toHaveLength(0)
  await held.query('commit')
  held.release()
  expect(await migrated).toEqual(['0002_columns.sql'])
})

test('a promoted standby continues the sequences', async () => {
  await using database = await createTestDatabase()
  // An unlogged sequence, the default in an unlogged table, has no page on the standby.
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const { rows } = await db.pool.query(
    `select relname from pg_class where relkind = 'S' and relpersistence <> 'p'`,
  )
  expect(rows).toEqual([])
})

test.each(['0002-dash.sql', '002_short.sql', 'index.sql'])(
  'a migration named %s is an error',
  async (name) => {
    await using empty = await openEmpty()
    await empty.write('migrations', name, 'select 1')
    await expect(migrate(empty.db, empty.folders)).rejects.toThrow(
      `expected a migration named NNNN_<words>.sql, got ${name}`,
    )
  },
)

test('numbers may be skipped and used later, and none may occur twice', async () => {
  await using empty = await openEmpty()
  const { db, folders, write } = empty
  await write('migrations', '0004_later.sql', 'select 1')
  expect(await migrate(db, folders)).toContain('0004_later.sql')
  await write('migrations', '0003_between.sql', 'select 1')
  expect(await migrate(db, folders)).toEqual(['0003_between.sql'])
  await write('migrations', '0003_again.sql', 'select 1')
  await expect(migrate(db, folders)).rejects.toThrow('two migrations have the number 0003')
})
