import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'

/** Milliseconds since the Unix epoch by the database's clock. */
export async function readClockMs(db: Db): Promise<number> {
  const { rows } = await db.pool.query<{ ms: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  )
  const ms = rows[0]?.ms
  if (ms === undefined) throw new Error('the database returned no time')
  return ms
}

/** The current time by the database's clock, as Postgres prints it, in full precision. */
export async function databaseMoment(db: Db | Tx): Promise<string> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(
    queriesOf(db),
  )
  return rows[0]?.now ?? ''
}
