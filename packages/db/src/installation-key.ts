import type { Db } from './database.ts'

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
