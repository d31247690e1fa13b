import type { Db } from '@plumbline/db/database'

/** An asynchronous standby of a world's database, which has stopped receiving changes. */
export interface Standby {
  /**
   * Makes the database what the standby has: all later commits are lost, and numbers that they took from
   * sequences are issued again. Unlogged tables are empty. The caller makes sure that nobody else uses the
   * database.
   *
   * @param numbersAhead numbers that each sequence skips, so that other rows get those of lost ones: up to
   *   32 are logged in advance (source: `SEQ_LOG_VALS` of Postgres 15)
   */
  promote(numbersAhead: number): Promise<void>
}

/** Tables of the service and of its queue, and the columns that can be written. */
const TABLES = `
  select c.oid, n.nspname || '.' || quote_ident(c.relname) as name, c.relpersistence = 'p' as logged,
    'simulation.' || quote_ident('standby_' || n.nspname || '_' || c.relname) as copy,
    string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
  from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('public', 'bullmq')
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      and a.attgenerated = ''
  where c.relkind = 'r'
  group by 1, 2, 3, 4
  order by 2`

const SEQUENCES = `
  select n.nspname || '.' || quote_ident(c.relname) as name
  from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('public', 'bullmq')
  where c.relkind = 'S'`

interface Table {
  readonly oid: number
  readonly name: string
  readonly logged: boolean
  readonly copy: string
  readonly columns: string
}

interface Sequence {
  readonly name: string
  readonly last: string
  readonly called: boolean
}

/** Begins a standby that has all commits until now, with the connections of a superuser. */
export async function openStandby(db: Db): Promise<Standby> {
  const tables: readonly Table[] = await inOneTransaction(db, 'repeatable read', async (run) => {
    const found = await run<Table>(TABLES)
    for (const { copy, name, logged } of found) {
      if (logged) await run(`create table ${copy} as table ${name}`)
    }
    return found
  })
  // Not before the copies: the standby must not issue the number of a row that it has.
  const sequences: Sequence[] = []
  for (const { name } of (await db.pool.query<{ name: string }>(SEQUENCES)).rows) {
    const { rows } = await db.pool.query<Sequence>(
      `select $1 as name, last_value::text as last, is_called as called from ${name}`,
      [name],
    )
    sequences.push(...rows)
  }
  return {
    promote: async (numbersAhead) => {
      await inOneTransaction(db, 'read committed', async (run) => {
        // A standby runs no triggers and checks no references again.
        await run('set local session_replication_role = replica')
        const present = await run<Table>(TABLES)
        await run(`truncate ${present.map(({ name }) => name).join(', ')}`)
        for (const { oid, name, copy, columns, logged } of present) {
          // A queue that was lost and made again has other tables.
          if (!logged || !tables.some((table) => table.oid === oid)) continue
          await run(`insert into ${name} (${columns}) overriding system value
            select ${columns} from ${copy}`)
        }
        for (const { name, last, called } of sequences) {
          await run(`select setval('${name}', ${last} + ${numbersAhead}, ${called})`)
        }
        for (const { copy, logged } of tables) if (logged) await run(`drop table ${copy}`)
      })
    },
  }
}

type Run = <Row extends object>(statement: string) => Promise<Row[]>

async function inOneTransaction<T>(
  { pool }: Db,
  isolation: string,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query(`begin isolation level ${isolation}`)
    const result = await work(
      async <Row extends object>(statement: string) => (await client.query<Row>(statement)).rows,
    )
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

/** Ends all sessions of the service in the database, and waits until they have ended. */
export async function endSessions({ pool }: Db, role: string): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and usename = $1`,
      [role],
    )
    if (rowCount === 0) return
  }
}
