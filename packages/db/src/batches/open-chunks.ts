import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'

/** How many chunks of all batches are not settled yet. */
export async function countOpenChunks(db: Db | Tx): Promise<number> {
  const row = await queriesOf(db)
    .selectFrom('chunks')
    .select(sql<number>`count(*)`.as('open'))
    .where('settled_at', 'is', null)
    .executeTakeFirstOrThrow()
  return row.open
}
