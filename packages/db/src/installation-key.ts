import { sql } from 'kysely'
import type { Db, Tx } from './database.ts'

/**
 * Notes the fingerprint of the key that this installation uses; the first one stays.
 * @returns whether it is the one that stands there
 */
export async function noteInstallationKey(db: Db, fingerprint: string): Promise<boolean> {
  await db.pool.query(
    'insert into installation_key (fingerprint) values ($1) on conflict do nothing',
    [fingerprint],
  )
  const { rows } = await db.pool.query<{ fingerprint: string }>(
    'select fingerprint from installation_key',
  )
  return rows[0]?.fingerprint === fingerprint
}

/**
 * The fingerprint that is noted, undefined if there is none yet. A process that starts meanwhile waits for
 * the end of the transaction before it learns which key is right.
 */
export async function lockFingerprint(tx: Tx): Promise<string | undefined> {
  await sql`set local lock_timeout = '10s'`.execute(tx)
  await sql`lock table installation_key in access exclusive mode`.execute(tx)
  const { rows } = await sql<{ fingerprint: string }>`
    select fingerprint from installation_key`.execute(tx)
  return rows[0]?.fingerprint
}

/** Notes another key as the one of this installation. */
export async function changeFingerprint(tx: Tx, fingerprint: string): Promise<void> {
  await sql`update installation_key set fingerprint = ${fingerprint}, noted_at = now()`.execute(tx)
}

/** Names of the programs that have this database open, beside the session of the transaction. */
export async function otherPrograms(tx: Tx): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct coalesce(nullif(application_name, ''), 'one without a name') as name
    from pg_stat_activity
    where datname = current_database() and usesysid is not null and pid <> pg_backend_pid()
    order by name`.execute(tx)
  return rows.map(({ name }) => name)
}
