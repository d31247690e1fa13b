import { sql } from 'kysely'
import type { Db, Tx } from './database.ts'

/**
 * Stores the fingerprint of this installation's key if there is none yet.
 *
 * @returns whether the stored fingerprint equals this one
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
 * Locks and reads the stored fingerprint, undefined if there is none yet. A process that starts
 * meanwhile waits for the end of the transaction before it compares its key.
 */
export async function lockFingerprint(tx: Tx): Promise<string | undefined> {
  await sql`set local lock_timeout = '10s'`.execute(tx)
  await sql`lock table installation_key in access exclusive mode`.execute(tx)
  const { rows } = await sql<{ fingerprint: string }>`
    select fingerprint from installation_key`.execute(tx)
  return rows[0]?.fingerprint
}

/** Replaces the stored fingerprint. */
export async function changeFingerprint(tx: Tx, fingerprint: string): Promise<void> {
  await sql`update installation_key set fingerprint = ${fingerprint}, noted_at = now()`.execute(tx)
}

/** Names of the other programs that are connected to this database. */
export async function otherPrograms(tx: Tx): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct coalesce(nullif(application_name, ''), 'one without a name') as name
    from pg_stat_activity
    where datname = current_database() and usesysid is not null and pid <> pg_backend_pid()
    order by name`.execute(tx)
  return rows.map(({ name }) => name)
}
