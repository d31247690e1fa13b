import { openDatabase, type Db } from '@plumbline/db/database'

/**
 * Has every session that a database opens from now on go by a clock that `shiftTime` moves: its own
 * `now` and `clock_timestamp` are found before those of Postgres. For a database without tables:
 * the defaults of columns keep the function that they were made with.
 */
export async function ownTime(url: string): Promise<void> {
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'bench' })
  await shiftTime(db, 0)
  const name = new URL(url).pathname.slice(1)
  await db.pool.query(`alter database ${name} set search_path = public, pg_catalog`)
}

/**
 * Moves that clock so far ahead of the machine's. Planned into statements as a sum: it costs them
 * nothing.
 */
export async function shiftTime(db: Db, byMs: number): Promise<void> {
  const ahead = `interval '${Math.round(byMs)} milliseconds'`
  await db.pool.query(`
    create or replace function public.now() returns timestamptz language sql stable as $$
      select pg_catalog.now() + ${ahead} $$;
    create or replace function public.clock_timestamp() returns timestamptz language sql volatile as $$
      select pg_catalog.clock_timestamp() + ${ahead} $$`)
}
