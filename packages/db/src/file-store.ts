import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'
import { randomBase62 } from './ids.ts'

/** What this database is called in its store of files, such as `ins_4fT0...`; chosen with its first use. */
export async function readStoreOwner(db: Db): Promise<string> {
  const found = await storeOwner(db)
  if (found !== undefined) return found
  await db.pool.query('insert into file_store_owner (id) values ($1) on conflict do nothing', [
    `ins_${randomBase62(22)}`,
  ])
  const made = await storeOwner(db)
  if (made === undefined) throw new Error('the owner of the file store was not kept')
  return made
}

async function storeOwner(db: Db): Promise<string | undefined> {
  const { rows } = await db.pool.query<{ id: string }>('select id from file_store_owner')
  return rows[0]?.id
}

/** Whether the whole store was not looked through for so long, or never, by the database's clock. */
export async function isLookDue(db: Db, hours: number): Promise<boolean> {
  const { rows } = await db.pool.query<{ due: boolean }>(
    `select coalesce(looked_through_at not between
       clock_timestamp() - $1 * interval '1 hour' and clock_timestamp() + interval '1 minute', true) as due
     from file_store_owner`,
    [hours],
  )
  return rows[0]?.due ?? true
}

/** Notes that the whole store was looked through just now. */
export async function noteLook(db: Db): Promise<void> {
  await db.pool.query('update file_store_owner set looked_through_at = clock_timestamp()')
}

/** How long the process that gives files up has for them alone. */
const OWN_TRY_SECONDS = 60

/** The longest wait between two tries: some twenty within the day that a removal may take. */
const LONGEST_REST_SECONDS = 3_600

/**
 * Notes files of an account that are to go, in the transaction that gives them up: they stand here until the
 * store has confirmed their removal.
 */
export async function noteRemovals(
  db: Db | Tx,
  accountId: string,
  keys: readonly string[],
): Promise<void> {
  await sql`
    insert into file_removals (key, account_id, next_at)
    select key, ${accountId}, clock_timestamp() + ${OWN_TRY_SECONDS} * interval '1 second'
    from unnest(${[...keys]}::text[]) as key
    on conflict (key) do nothing
  `.execute(queriesOf(db))
}

/** Files whose removal is to be tried now; each is left alone then for a time that doubles, up to an hour. */
export async function takeRemovals(db: Db, most: number): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ key: string }>(
    `update file_removals
     set attempts = attempts + 1,
       next_at = clock_timestamp() + least($2, 30 * power(2, least(attempts, 10))) * interval '1 second'
     where key in (
       select key from file_removals where next_at <= clock_timestamp()
       order by next_at limit $1 for update skip locked)
     returning key`,
    [most, LONGEST_REST_SECONDS],
  )
  return rows.map(({ key }) => key)
}

/** The store has confirmed that these are gone. */
export async function confirmRemovals(db: Db, keys: readonly string[]): Promise<void> {
  await db.pool.query('delete from file_removals where key = any($1)', [[...keys]])
}

/** Files of an account that were given up until a moment, by the database's clock, and are not gone yet. */
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

/** Removals that the store has not confirmed: how many, and since when the oldest waits. */
export interface OpenRemovals {
  readonly count: number
  readonly oldestSeconds: number
}

/** What of removals is open, by the database's clock. */
export async function readOpenRemovals(db: Db): Promise<OpenRemovals> {
  const { rows } = await db.pool.query<OpenRemovals>(
    `select count(*)::float8 as count,
       coalesce(extract(epoch from clock_timestamp() - min(asked_at)), 0)::float8 as "oldestSeconds"
     from file_removals`,
  )
  return rows[0] ?? { count: 0, oldestSeconds: 0 }
}

/**
 * Notes since when files are known that no batch names, and forgets those that a batch names by now.
 * @returns those of the strays that have been known for `graceDays`
 */
export async function judgeStrays(
  db: Db,
  found: { readonly strays: readonly string[]; readonly named: readonly string[] },
  graceDays: number,
): Promise<readonly string[]> {
  if (found.named.length > 0) await forgetStrays(db, found.named)
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

/** These are no strays any more: removed, or named by a batch. */
export async function forgetStrays(db: Db, keys: readonly string[]): Promise<void> {
  await db.pool.query('delete from stray_files where key = any($1)', [[...keys]])
}
