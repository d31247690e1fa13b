import pg from 'pg'
import { STATEMENT_MS, type Db } from './database.ts'
import { loginOf } from './server-address.ts'

/**
 * Sets the time-outs of a role on this database, and turns off just-in-time compilation, for a
 * pooler: PgBouncer does not pass on settings of its clients. A session that sets its own is not
 * affected. Written only if it differs.
 *
 * @param db a session of the role itself, or of one that may alter it
 * @param servingUrl names the role by its user
 * @throws with instructions if this role may not alter the other
 */
export async function limitSessions(db: Db, servingUrl: string): Promise<void> {
  const { user: role } = loginOf(servingUrl)
  const { rows } = await db.pool.query<{ database: string; kept: string[] }>(
    `select current_database() as database,
       coalesce((select s.setconfig from pg_db_role_setting s
                   join pg_database d on d.oid = s.setdatabase join pg_roles r on r.oid = s.setrole
                 where d.datname = current_database() and r.rolname = $1), '{}') as kept`,
    [role],
  )
  const { database = '', kept = [] } = rows[0] ?? {}
  for (const [name, value] of LIMITS) {
    if (kept.includes(`${name}=${value}`)) continue
    const statement =
      `alter role ${pg.escapeIdentifier(role)} in database ${pg.escapeIdentifier(database)} ` +
      `set ${name} = '${value}'`
    try {
      await db.pool.query(statement)
    } catch (cause) {
      throw new Error(
        `the role "${role}" of DATABASE_URL could not be given its time-outs; run "${statement}" ` +
          'as a superuser and migrate again',
        { cause },
      )
    }
  }
}

const LIMITS: readonly (readonly [name: string, value: string])[] = [
  ['statement_timeout', `${STATEMENT_MS}ms`],
  ['idle_in_transaction_session_timeout', `${STATEMENT_MS}ms`],
  // Just-in-time compilation of a statement with many parts takes longer than running it.
  ['jit', 'off'],
]
