import type { Db } from './database.ts'

/**
 * Runs a trivial query.
 *
 * @throws if the database does not reply
 */
export async function pingDatabase(db: Db): Promise<void> {
  await db.pool.query({ name: 'ping', text: 'select 1' })
}
