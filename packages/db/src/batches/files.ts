import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { FILELESS_STATES } from './states.ts'

/** Storage keys of these batches' files; failed and erased batches have none. */
export async function namedFiles(
  db: Db | Tx,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await queriesOf(db)
    .selectFrom('batches')
    .select(['source_key', 'result_key'])
    .where('id', 'in', [...ids])
    .where('status', 'not in', FILELESS_STATES)
    .where(sql<boolean>`erasing is distinct from 'all'`)
    .execute()
  return new Set(
    rows.flatMap((row) =>
      row.result_key === null ? [row.source_key] : [row.source_key, row.result_key],
    ),
  )
}
