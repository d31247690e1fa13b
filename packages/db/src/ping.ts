import type { Db } from './database.ts'

/** Asks the database for a sign of life; throws without one. */
export async function pingDatabase(db: Db): Promise<void> {
  await db.pool.query({ name: 'ping', text: 'select 1' })
}
