import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { Db, DbSession } from './database.ts'

/** A table that was copied, and its number of rows. */
export interface MovedTable {
  readonly name: string
  readonly rowCount: number
}

/** Tables that each database fills by its own migrations. */
const OWN = ['migrations', 'function_files']

/** Tables filled by a migration, whose rows are no sign that a database is in use. */
const SEEDED = ['plans', 'packs']

/**
 * Session settings: rows are compared as text, so both servers must print them alike, and neither
 * connection has a time-out while it waits for the other.
 */
const SAME_TEXT = `
  set local idle_in_transaction_session_timeout = 0;
  set local timezone = 'UTC';
  set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 1`

/**
 * Copies all rows of a database into an empty one of the same version, in one transaction of the
 * target: all or nothing. Then compares both by a digest of every row. The queue is not copied: its
 * jobs are wake-up calls, and work whose job is lost is dispatched again.
 *
 * If the target holds exactly these rows already, as after a run whose caller died before its end,
 * that is a success too.
 *
 * @param source nobody may write to it meanwhile
 * @param target by a role that owns its tables; both must allow statements that last as long as a
 * large table needs
 * @throws Error if the target holds other rows, or what arrived differs from what was sent
 */
export async function moveDatabase(source: Db, target: Db): Promise<readonly MovedTable[]> {
  const from = await source.pool.connect()
  const to = await target.pool.connect().catch((error: unknown) => {
    from.release()
    throw error
  })
  try {
    await from.query('begin isolation level repeatable read read only')
    await to.query('begin')
    await Promise.all([from.query(SAME_TEXT), to.query(SAME_TEXT)])
    const tables = await readTables(from)
    const filled = await firstFilled(to, tables)
    if (filled === undefined) await copyAll(tables, from, to)
    const moved = await compareAll(tables, from, to, filled)
    await to.query('commit')
    await from.query('commit')
    from.release()
    to.release()
    if (filled === undefined) await target.pool.query('analyze')
    return moved
  } catch (error) {
    // Ends the sessions, and with them any open transaction.
    from.release(true)
    to.release(true)
    throw error
  }
}

interface Table {
  readonly name: string
  /** Quoted names of all columns that are not computed. */
  readonly columns: string
}

async function readTables(session: DbSession): Promise<readonly Table[]> {
  const { rows } = await session.query<Table>(
    `select c.relname as name,
       string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
       and c.relname <> all($1) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
    [OWN],
  )
  return rows
}

async function firstFilled(
  session: DbSession,
  tables: readonly Table[],
): Promise<string | undefined> {
  for (const { name } of tables) {
    if (SEEDED.includes(name)) continue
    const { rowCount } = await session.query(`select from ${quoted(name)} limit 1`)
    if (rowCount === 1) return name
  }
  return undefined
}

async function copyAll(tables: readonly Table[], from: DbSession, to: DbSession): Promise<void> {
  // Foreign keys would reject the order of the rows, and triggers must not act on copied rows.
  const keys = await readForeignKeys(to)
  for (const { table, name } of keys) await to.query(`alter table ${table} drop constraint ${name}`)
  for (const { name } of tables) {
    await to.query(`alter table ${quoted(name)} disable trigger user`)
  }
  for (const name of SEEDED) await to.query(`delete from ${quoted(name)}`)
  for (const table of tables) await copyRows(table, from, to)
  await copySequences(from, to)
  for (const { name } of tables) await to.query(`alter table ${quoted(name)} enable trigger user`)
  for (const { table, name, rule } of keys) {
    await to.query(`alter table ${table} add constraint ${name} ${rule}`)
  }
}

interface ForeignKey {
  readonly table: string
  readonly name: string
  readonly rule: string
}

async function readForeignKeys(session: DbSession): Promise<readonly ForeignKey[]> {
  const { rows } = await session.query<ForeignKey>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name,
       pg_get_constraintdef(oid) as rule
     from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace
     order by conrelid::regclass::text, conname`,
  )
  return rows
}

async function copyRows({ name, columns }: Table, from: DbSession, to: DbSession): Promise<void> {
  const list = `${quoted(name)} (${columns})`
  try {
    await pipeline(
      from.query(copyTo(`copy ${list} to stdout`)),
      to.query(copyFrom(`copy ${list} from stdin`)),
    )
  } catch (cause) {
    throw new Error(`table ${name} could not be copied`, { cause })
  }
}

/** Sets the sequences of the target to those of the source, so that no number is issued twice. */
async function copySequences(from: DbSession, to: DbSession): Promise<void> {
  const { rows } = await from.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'S' order by relname`,
  )
  for (const { name } of rows) {
    const { rows: states } = await from.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text as last_value, is_called from ${name}`,
    )
    for (const { last_value: last, is_called: isCalled } of states) {
      await to.query('select setval($1::regclass, $2::bigint, $3)', [name, last, isCalled])
    }
  }
}

/**
 * Compares all tables.
 *
 * @throws Error if a table differs; `filled` names one that held rows before
 */
async function compareAll(
  tables: readonly Table[],
  from: DbSession,
  to: DbSession,
  filled: string | undefined,
): Promise<readonly MovedTable[]> {
  const moved: MovedTable[] = []
  for (const table of tables) {
    const [sent, arrived] = await Promise.all([readDigest(from, table), readDigest(to, table)])
    if (sent.rowCount === arrived.rowCount && sent.digest === arrived.digest) {
      moved.push({ name: table.name, rowCount: sent.rowCount })
      continue
    }
    if (filled !== undefined) {
      throw new Error(`the target is not empty: its table ${filled} has rows; give an empty one`)
    }
    throw new Error(
      `table ${table.name} differs: ${sent.rowCount} rows were sent, ${arrived.rowCount} arrived`,
    )
  }
  return moved
}

interface Digest {
  readonly rowCount: number
  /** Equal for equal rows in any order. */
  readonly digest: string
}

async function readDigest(session: DbSession, { name, columns }: Table): Promise<Digest> {
  const { rows } = await session.query<Digest>(
    `select count(*)::float8 as "rowCount",
       coalesce(sum(hashtextextended(t::text, 0)), 0)::text as digest
     from (select ${columns} from ${quoted(name)}) t`,
  )
  return rows[0] ?? { rowCount: 0, digest: '' }
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name)
}
