import pg from 'pg'
import type { Db } from './database.ts'
import { scramVerifier } from './scram.ts'
import { loginOf } from './server-address.ts'
import { hasState, SQLSTATE } from './sqlstate.ts'

/** Schemas of the product: its own, and that of the queue. */
const SCHEMAS = ['public', 'bullmq'] as const

/**
 * Tables that the service only reads: only migrations write them, and plans and packs are changed
 * by SQL functions.
 */
const READ_ONLY = ['migrations', 'function_files', 'migration', 'plans', 'packs']

/** A table with a trigger of this name is append-only. */
const APPEND_ONLY = 'append_only'

/** Key of the advisory lock; any number that no other lock of the product uses. */
const LOCK = 7_586_205_102

/**
 * Grants the role of `servingUrl` the rights that the service needs, and no others: it owns
 * nothing, and can append to the ledger but not change, truncate or alter it. Creates the role if
 * it is missing, with the password of the URL. To be run at the end of every migration; does
 * nothing if the role is that of `db` itself.
 *
 * @param db a session of the migrating role, which owns the tables
 * @throws with instructions if the role is missing and cannot be created, or has rights of its own
 */
export async function grantServing(db: Db, servingUrl: string): Promise<void> {
  const client = await db.pool.connect()
  try {
    const role = await servingRole(client, servingUrl)
    if (role !== undefined) {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock($1)', [LOCK])
      await refusePrivileged(client, role)
      for (const statement of await missingGrants(client, role)) await client.query(statement)
      await client.query('commit')
    }
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * Whether the role of this session could change the ledger: it owns it, or was granted too much.
 * The only code outside metering that names a table of credits: it checks rights on one, and reads
 * no row of it.
 */
export async function mayChangeLedger(db: Db): Promise<boolean> {
  const { rows } = await db.pool.query<{ may: boolean }>(
    `select has_table_privilege(c.oid, 'update, delete, truncate') or pg_has_role(c.relowner, 'usage') as may
     from pg_class c where c.oid = 'credit_entries'::regclass`,
  )
  return rows[0]?.may ?? false
}

async function servingRole(client: pg.PoolClient, servingUrl: string): Promise<string | undefined> {
  const { user: name, password } = loginOf(servingUrl)
  const { rows } = await client.query<{ own: boolean; known: boolean }>(
    `select current_user = $1 as own, exists (select from pg_roles where rolname = $1) as known`,
    [name],
  )
  if (rows[0]?.own === true) return undefined
  if (rows[0]?.known !== true) await makeRole(client, name, password)
  return name
}

async function makeRole(client: pg.PoolClient, name: string, password: string): Promise<void> {
  const secret = password === '' ? '' : ` password ${pg.escapeLiteral(scramVerifier(password))}`
  try {
    await client.query(`create role ${pg.escapeIdentifier(name)} login${secret}`)
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause
    // Roles belong to the whole server: another database's migration may create it at the same
    // moment.
    if (hasState(cause, SQLSTATE.duplicateObject, SQLSTATE.uniqueViolation)) return
    throw new Error(
      `the role "${name}" of DATABASE_URL is missing and could not be created; create it with ` +
        `"create role ${name} login password '...'" and migrate again`,
      { cause },
    )
  }
}

/** Refuses a role that bypasses all grants, such as a superuser. */
async function refusePrivileged(client: pg.PoolClient, role: string): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_roles where rolname = $1
       and (rolsuper or rolcreaterole or rolbypassrls or pg_has_role(oid, current_user::regrole, 'member'))`,
    [role],
  )
  if (rowCount === 0) return
  throw new Error(
    `the role "${role}" of DATABASE_URL is a superuser, makes roles or has the rights of the one that ` +
      'migrates; take these away, or leave MIGRATE_DATABASE_URL unset',
  )
}

interface Owned {
  readonly name: string
  readonly has: readonly string[]
  readonly wanted: readonly string[]
}

/**
 * Only grants that are missing: each writes to the catalogue, which every session would have to
 * reload.
 */
async function missingGrants(client: pg.PoolClient, role: string): Promise<readonly string[]> {
  const grantee = pg.escapeIdentifier(role)
  const { rows: schemas } = await client.query<{ name: string; used: boolean; filled: boolean }>(
    `select nspname as name, has_schema_privilege($2, oid, 'usage') as used,
       has_schema_privilege($2, oid, 'create') as filled
     from pg_namespace where nspname = any($1) order by nspname`,
    [SCHEMAS, role],
  )
  const statements = schemas.flatMap(({ name, used, filled }) => [
    ...(used ? [] : [`grant usage on schema ${name} to ${grantee}`]),
    // The default of servers before 15, and of databases upgraded from them.
    ...(filled ? [`revoke create on schema ${name} from public, ${grantee}`] : []),
  ])
  for (const { name, has, wanted } of await ownedRelations(client, role)) {
    if (has.toSorted().join() === wanted.toSorted().join()) continue
    if (has.length > 0) statements.push(`revoke all on ${name} from ${grantee}`)
    statements.push(`grant ${wanted.join(', ')} on ${name} to ${grantee}`)
  }
  return statements
}

/**
 * Tables and sequences that the migrating role may grant rights on, with the actual and intended
 * rights of the role.
 */
async function ownedRelations(client: pg.PoolClient, role: string): Promise<readonly Owned[]> {
  const { rows } = await client.query<{
    relname: string
    name: string
    kind: string
    appended: boolean
    has: string[]
  }>(
    `select c.relname, format('%I.%I', n.nspname, c.relname) as name, c.relkind::text as kind,
       exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = $3) as appended,
       array(select a.privilege_type from aclexplode(c.relacl) a
         where a.grantee = $2::regrole) as has
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p', 'v', 'S')
       and pg_has_role(c.relowner, 'usage')
     order by n.nspname, c.relname`,
    [SCHEMAS, pg.escapeIdentifier(role), APPEND_ONLY],
  )
  return rows.map(({ relname, name, kind, appended, has }) => ({
    name: kind === 'S' ? `sequence ${name}` : name,
    has,
    wanted: wantedOn(relname, kind, appended),
  }))
}

function wantedOn(name: string, kind: string, appended: boolean): readonly string[] {
  if (kind === 'S') return ['USAGE', 'SELECT']
  if (READ_ONLY.includes(name)) return ['SELECT']
  return appended ? ['SELECT', 'INSERT'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
}
