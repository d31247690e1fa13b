import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'
import { randomBase62 } from './ids.ts'

/** The id of this database in its file store, such as `ins_4fT0...`; generated when first used. */
export async function readStoreOwner(db: Db): Promise<string> {
  const found = await storeOwner(db)
  if (found !== undefined) return found
  await db.pool.query('insert into file_store_owner (id) values ($1) on conflict do nothing', [
    `ins_${randomBase62(22)}`,
  ])
  const made = await storeOwner(db)
  if (made === undefined) throw new Error('the owner of the file store was not stored')
  return made
}

async function storeOwner(db: Db): Promise<string | undefined> {
  const { rows } = await db.pool.query<{ id: string }>('select id from file_store_owner')
  return rows[0]?.id
}

/**
 * Whether the last listing of the whole store is this many hours ago, or there was none, by the
 * database's clock.
 */
export async function isWholeSweepDue(db: Db, hours: number): Promise<boolean> {
  const { rows } = await db.pool.query<{ due: boolean }>(
    `select coalesce(looked_through_at not between
       clock_timestamp() - $1 * interval '1 hour' and clock_timestamp() + interval '1 minute', true) as due
     from file_store_owner`,
    [hours],
  )
  return rows[0]?.due ?? true
}

/** Records that the whole store was listed just now. */
export async function noteWholeSweep(db: Db): Promise<void> {
  await db.pool.query('update file_store_owner set looked_through_at = clock_timestamp()')
}

/** Seconds in which only the process that stopped referencing the files tries to remove them. */
const OWN_TRY_SECONDS = 60

/**
 * Longest delay between two attempts: some twenty attempts within the day that a removal may take.
 */
const LONGEST_REST_SECONDS = 3_600

/**
 * Records files of an account to be removed, in the transaction that stops referencing them; the
 * record stays until the store has confirmed the removal.
 *
 * @param by `caller` if the caller tries first, `sweep` if only the sweep removes them
 */
export async function noteRemovals(
  db: Db | Tx,
  accountId: string,
  keys: readonly string[],
  by: 'caller' | 'sweep' = 'caller',
): Promise<void> {
  const restSeconds = by === 'caller' ? OWN_TRY_SECONDS : 0
  await sql`
    insert into file_removals (key, account_id, next_at)
    select key, ${accountId}, clock_timestamp() + ${restSeconds} * interval '1 second'
    from unnest(${[...keys]}::text[]) as key
    on conflict (key) do nothing
  `.execute(queriesOf(db))
}

/**
 * Files whose removal is to be attempted now; each is then delayed for a time that doubles, up to
 * an hour.
 */
export async function takeRemovals(db: Db, most: number): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ key: string }>(
    `update file_removals
     set attempts = attempts + 1,
       next_at = clock_timestamp() + least($2, 30 * power(2, least(attempts, 10))) * interval '1 second'
     where key in (
       select key from file_removals
       -- A subquery, so that none that is due later is read: after an outage of the store there are many.
       where next_at <= (select clock_timestamp())
       order by next_at limit $1 for update skip locked)
     returning key`,
    [most, LONGEST_REST_SECONDS],
  )
  return rows.map(({ key }) => key)
}

/** Deletes the records of files that the store has removed. */
export async function confirmRemovals(db: Db, keys: readonly string[]): Promise<void> {
  await db.pool.query('delete from file_removals where key = any($1)', [[...keys]])
}

/**
 * Files of an account that were no longer referenced at a time, by the database's clock, and are
 * not removed yet.
 */
export async function removalsOf(
  db: Db,
  accountId: string,
  until: string,
  most: number,
): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ key: string }>(
    `select key from file_removals where account_id = $1 and asked_at <= $2::timestamptz
     order by asked_at limit $3`,
    [accountId, until, most],
  )
  return rows.map(({ key }) => key)
}

/** Removals that the store has not confirmed: how many, and the age of the oldest. */
export interface OpenRemovals {
  readonly count: number
  readonly oldestSeconds: number
}

/** Reads the open removals, by the database's clock. */
export async function readOpenRemovals(db: Db): Promise<OpenRemovals> {
  const { rows } = await db.pool.query<OpenRemovals>(
    `select count(*)::float8 as count,
       coalesce(extract(epoch from clock_timestamp() - min(asked_at)), 0)::float8 as "oldestSeconds"
     from file_removals`,
  )
  return rows[0] ?? { count: 0, oldestSeconds: 0 }
}

/**
 * Records when files were first found unreferenced, and deletes the records of those that are
 * referenced by now.
 *
 * @returns those that have been unreferenced for `graceDays`
 */
export async function recordStrays(
  db: Db,
  found: { readonly strays: readonly string[]; readonly named: readonly string[] },
  graceDays: number,
): Promise<readonly string[]> {
  if (found.named.length > 0) await deleteStrayRecords(db, found.named)
  if (found.strays.length === 0) return []
  await db.pool.query(
    'insert into stray_files (key) select unnest($1::text[]) on conflict (key) do nothing',
    [[...found.strays]],
  )
  const { rows } = await db.pool.query<{ key: string }>(
    `select key from stray_files
     where key = any($1) and seen_at <= clock_timestamp() - $2 * interval '1 day'`,
    [[...found.strays], graceDays],
  )
  return rows.map(({ key }) => key)
}

/**
 * Deletes the records of files that are removed, or referenced by a batch.
 *
 * @returns how many there were: of several processes only one deletes each
 */
export async function deleteStrayRecords(db: Db, keys: readonly string[]): Promise<number> {
  const { rowCount } = await db.pool.query('delete from stray_files where key = any($1)', [
    [...keys],
  ])
  return rowCount ?? 0
}
