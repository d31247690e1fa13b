import type { Weights } from '@plumbline/contract/score'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'
import { jsonbText } from './jsonb.ts'

/** Stores a table of weights for batches that refer to it; an existing one is not changed. */
export async function storeWeights(db: Db | Tx, weights: Weights): Promise<void> {
  await sql`
    insert into score_weights (version, groups)
    values (${weights.version}, ${jsonbText(weights.groups)}::jsonb)
    on conflict (version) do nothing
  `.execute(queriesOf(db))
}

/** The table of a version; undefined if it was never stored. */
export async function readWeights(db: Db | Tx, version: string): Promise<Weights | undefined> {
  return await queriesOf(db)
    .selectFrom('score_weights')
    .select(['version', 'groups'])
    .where('version', '=', version)
    .executeTakeFirst()
}
