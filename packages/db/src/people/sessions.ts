import type { Role } from '@plumbline/contract/app/roles'
import { sql } from 'kysely'
import { queriesOf, queryForCall, type Db, type Tx } from '../database.ts'
import { newId } from '../ids.ts'
import { STANDING, STANDING_TABLES, type AccountStanding } from '../keys.ts'

/** Days without use after which a session ends. Source: OWASP ASVS 5.0, 7.3.1. */
export const SESSION_IDLE_DAYS = 7
/** Days after which a session ends in any case. Source: OWASP ASVS 5.0, 7.3.2. */
export const SESSION_DAYS = 30

/** The account that a session shows, and the user's role in it. */
export interface SessionMembership extends AccountStanding {
  readonly role: Role
  /** Whether the account lets only members with a second factor change anything. */
  readonly requiresFactor: boolean
}

/** A user's session: one sign-in, in one browser, until it ends. */
export interface UserSession {
  readonly sessionId: string
  readonly userId: string
  /** Null if the user has left the account that was shown. */
  readonly membership: SessionMembership | null
  readonly hasFactor: boolean
  readonly createdAt: Date
  readonly usedAt: Date
  readonly endsAt: Date
  readonly provenAt: Date | null
}

/** Input of `insertSession`. */
export interface NewSession {
  readonly digest: Buffer
  readonly userId: string
  readonly accountId: string | null
  readonly network: string
  readonly browser: string
  /** Whether the second factor was checked just now. */
  readonly proven: boolean
}

/** A session as its user sees it in a listing. */
export interface SessionEntry {
  readonly id: string
  readonly createdAt: Date
  readonly usedAt: Date
  readonly network: string
  readonly browser: string
}

/** Maximum number of sessions of one user; the one unused for longest is deleted. */
export const SESSIONS_MAX = 100

/**
 * Creates a session.
 *
 * @returns its id
 */
export async function insertSession(tx: Tx, session: NewSession): Promise<string> {
  const id = newId('ses')
  await tx
    .insertInto('sessions')
    .values({
      id,
      digest: session.digest,
      user_id: session.userId,
      account_id: session.accountId,
      ends_at: sql<Date>`now() + ${SESSION_DAYS} * interval '1 day'`,
      proven_at: session.proven ? sql<Date>`now()` : null,
      network: session.network,
      browser: session.browser,
    })
    .execute()
  await sql`delete from sessions where id in (
    select id from sessions where user_id = ${session.userId}
    order by used_at desc, created_at desc offset ${SESSIONS_MAX})`.execute(tx)
  return id
}

/**
 * The user that a token belongs to, by its digest; undefined if the session was ended or has
 * expired. Always reads the database: a caller that caches the result must drop it within a second.
 */
export async function findSession(db: Db, digest: Buffer): Promise<UserSession | undefined> {
  const rows = await queryForCall<UserSession>(db, {
    name: 'sessions.find',
    text: `select s.id as "sessionId", s.user_id as "userId", to_jsonb(a) as membership,
        u.totp_confirmed_at is not null as "hasFactor", s.created_at as "createdAt",
        s.used_at as "usedAt", s.ends_at as "endsAt", s.proven_at as "provenAt"
      from sessions s
      join users u on u.id = s.user_id
      left join lateral (
        select m.role, a.requires_second_factor as "requiresFactor", ${STANDING}
        from members m join (${STANDING_TABLES}) on a.id = m.account_id
        where m.account_id = s.account_id and m.user_id = s.user_id) a on true
      where s.digest = $1 and s.ends_at > now()
        and s.used_at > now() - $2::int * interval '1 day'`,
    values: [digest, SESSION_IDLE_DAYS],
  })
  return rows[0]
}

/** Replaces the token of a session, so that an older one that leaked is invalid. */
export async function renewSession(
  tx: Db | Tx,
  id: string,
  change: { readonly digest: Buffer; readonly proven?: boolean; readonly accountId?: string },
): Promise<void> {
  await queriesOf(tx)
    .updateTable('sessions')
    .set({
      digest: change.digest,
      ...(change.proven === true ? { proven_at: sql<Date>`now()` } : {}),
      ...(change.accountId === undefined ? {} : { account_id: change.accountId }),
    })
    .where('id', '=', id)
    .execute()
}

/** Notes when sessions were last used, to the minute. */
export async function noteSessionsUsed(db: Db, ids: readonly string[]): Promise<void> {
  await db.pool.query({
    name: 'sessions.used',
    text: `update sessions set used_at = now()
      where id = any ($1::text[]) and used_at < now() - interval '1 minute'`,
    values: [[...new Set(ids)]],
  })
}

/** The sessions of a user, most recently used first. */
export async function listSessions(db: Db | Tx, userId: string): Promise<readonly SessionEntry[]> {
  return await queriesOf(db)
    .selectFrom('sessions')
    .select(['id', 'created_at as createdAt', 'used_at as usedAt', 'network', 'browser'])
    .where('user_id', '=', userId)
    .where('ends_at', '>', sql<Date>`now()`)
    .where('used_at', '>', sql<Date>`now() - ${SESSION_IDLE_DAYS} * interval '1 day'`)
    .orderBy('used_at', 'desc')
    .orderBy('created_at', 'desc')
    .limit(SESSIONS_MAX)
    .execute()
}

/** Ends one session of a user; false if there is none. */
export async function endSession(db: Db | Tx, userId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await queriesOf(db)
    .deleteFrom('sessions')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/**
 * Ends the sessions of a user, except one if given.
 *
 * @returns how many
 */
export async function endSessions(db: Db | Tx, userId: string, except?: string): Promise<number> {
  let query = queriesOf(db).deleteFrom('sessions').where('user_id', '=', userId)
  if (except !== undefined) query = query.where('id', '<>', except)
  const { numDeletedRows } = await query.executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Ends the sessions of all users.
 *
 * @returns how many
 */
export async function endAllSessions(db: Db | Tx): Promise<number> {
  const { numDeletedRows } = await queriesOf(db).deleteFrom('sessions').executeTakeFirst()
  return Number(numDeletedRows)
}

/** Whether a user has had a session from a network. */
export async function hasUsedNetwork(
  db: Db | Tx,
  userId: string,
  network: string,
): Promise<boolean> {
  const row = await queriesOf(db)
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('network', '=', network)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
