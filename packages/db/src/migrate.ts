import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { PLANS } from '@plumbline/contract/plans'
import type pg from 'pg'
import type { Db } from './database.ts'

/** One file of `migrations`, in its order. */
interface Migration {
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** Any number that no other advisory lock of the product uses. */
const LOCK = 7_586_205_101

/** What the wait for the lock, and each migration, may take: six hours. */
const LONGEST_MS = 6 * 3_600_000

/**
 * Brings the database to the newest form: runs the files of `migrations` that it has not had, each
 * in its own transaction, in the order of their names, then writes the plans of the contract.
 * Any number of processes may call it at once: one works, the others wait and find nothing to do.
 *
 * @returns the names it ran
 * @throws where a file that was run before has changed since, or is gone
 */
export async function migrate(db: Db): Promise<readonly string[]> {
  const migrations = await readMigrations(new URL('../migrations/', import.meta.url))
  const client = await db.pool.connect()
  try {
    // The wait for another process and a migration of large tables may both take long.
    await client.query(`set statement_timeout = ${LONGEST_MS}`)
    await client.query(patient('select pg_advisory_lock($1)', [LOCK]))
    await client.query(`
      create table if not exists migrations (
        name text primary key,
        sha256 text not null,
        applied_at timestamptz not null default now())`)
    const { rows } = await client.query<{ name: string; sha256: string }>(
      'select name, sha256 from migrations',
    )
    const pending = pendingOf(migrations, new Map(rows.map((row) => [row.name, row.sha256])))
    for (const migration of pending) await apply(client, migration)
    await writePlans(client)
    await client.query('select pg_advisory_unlock($1)', [LOCK])
    await client.query('reset statement_timeout')
    client.release()
    return pending.map((migration) => migration.name)
  } catch (error) {
    // Ends the session, and with it the lock and any open transaction.
    client.release(true)
    throw error
  }
}

/** A statement that the driver waits for as long as the server does. */
function patient(text: string, values?: unknown[]): pg.QueryConfig & { query_timeout: number } {
  return { text, ...(values === undefined ? {} : { values }), query_timeout: LONGEST_MS }
}

async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

function pendingOf(
  migrations: readonly Migration[],
  applied: ReadonlyMap<string, string>,
): readonly Migration[] {
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

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  try {
    await client.query('begin')
    await client.query(patient(migration.sql))
    await client.query('insert into migrations (name, sha256) values ($1, $2)', [
      migration.name,
      migration.sha256,
    ])
    await client.query('commit')
  } catch (cause) {
    throw new Error(`migration ${migration.name} failed: ${String(cause)}`, { cause })
  }
}

async function writePlans(client: pg.PoolClient): Promise<void> {
  await client.query(
    `insert into plans (plan, monthly_credits) select * from unnest($1::text[], $2::bigint[])
     on conflict (plan) do update set monthly_credits = excluded.monthly_credits
     where plans.monthly_credits <> excluded.monthly_credits`,
    [Object.keys(PLANS), Object.values(PLANS).map((plan) => plan.monthlyCredits)],
  )
}
