import { sql, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/** How many chunks of all lists are not settled yet. */
export async function countOpenChunks(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('chunks')
    .select(sql<number>`count(*)`.as('open'))
    .where('settled_at', 'is', null)
    .executeTakeFirstOrThrow()
  return row.open
}
