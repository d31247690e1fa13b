import { openDatabase, type Db } from '@plumbline/db/database'

/**
 * Makes every new session of a database use a clock that `shiftClock` moves: its `now` and
 * `clock_timestamp` take precedence over those of Postgres. Only for a database without tables:
 * column defaults keep the function that they were created with.
 */
export async function useShiftableClock(url: string): Promise<void> {
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'bench' })
  await shiftClock(db, 0)
  const name = new URL(url).pathname.slice(1)
  await db.pool.query(`alter database ${name} set search_path = public, pg_catalog`)
}

/** Moves that clock ahead of the machine's by `byMs`; Postgres inlines the sum. */
export async function shiftClock(db: Db, byMs: number): Promise<void> {
  const ahead = `interval '${Math.round(byMs)} milliseconds'`
  await db.pool.query(`
    create or replace function public.now() returns timestamptz language sql stable as $$
      select pg_catalog.now() + ${ahead} $$;
    create or replace function public.clock_timestamp() returns timestamptz language sql volatile as $$
      select pg_catalog.clock_timestamp() + ${ahead} $$`)
}
