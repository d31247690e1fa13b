import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'

/** A message in the outbox. */
export interface StoredMail {
  readonly id: number
  readonly kind: string
  /** Encrypted by the caller. */
  readonly sealed: string
  /** Attempts before this one. */
  readonly attempts: number
}

/** Input of `insertMail`. */
export interface NewMail {
  readonly kind: string
  readonly sealed: string
  /** Hours after which delivery is given up. */
  readonly hours: number
  /** A message with this key is sent only once; absent: no limit. */
  readonly onceKey?: string
  /** It replaces a message with this key that has not been sent, and can be withdrawn by it. */
  readonly withdrawKey?: string
}

/**
 * Messages with a link that somebody waits for, sent before all others; their index names them,
 * too.
 */
const URGENT = `kind in ('verify', 'already_signed_up', 'confirm_email', 'reset')`

/**
 * Stores a message, in the transaction of the event that it reports.
 *
 * @returns whether it was stored: false if one with its `onceKey` was stored before
 */
export async function insertMail(tx: Db | Tx, mail: NewMail): Promise<boolean> {
  const queries = queriesOf(tx)
  const { onceKey, withdrawKey } = mail
  if (onceKey !== undefined) {
    const told = await queries
      .insertInto('mails_told')
      .values({ once_key: onceKey })
      .onConflict((conflict) => conflict.doNothing())
      .returning('once_key')
      .executeTakeFirst()
    if (told === undefined) return false
  }
  if (withdrawKey !== undefined) await withdrawMail(tx, withdrawKey)
  await queries
    .insertInto('mails')
    .values({
      once_key: onceKey ?? withdrawKey ?? null,
      kind: mail.kind,
      sealed: mail.sealed,
      expires_at: sql<Date>`now() + ${mail.hours} * interval '1 hour'`,
      fault: null,
    })
    .execute()
  return true
}

/**
 * Leases messages that are due, urgent ones first, for `leaseMs`. One that is not removed by then
 * is due again, so that a process that dies loses none. Expired messages are deleted and counted.
 */
export async function leaseMails(
  db: Db,
  wanted: { readonly count: number; readonly leaseMs: number },
): Promise<{ readonly mails: readonly StoredMail[]; readonly givenUp: readonly string[] }> {
  const old = await db.pool.query<{ kind: string; fault: string | null }>(
    'delete from mails where expires_at <= now() returning kind, fault',
  )
  const { rows: mails } = await db.pool.query<StoredMail>({
    name: 'mails.take',
    text: `with urgent as (
        select id from mails where next_at <= now() and ${URGENT}
        order by next_at limit $1 for update skip locked
      ), others as (
        select id from mails where next_at <= now() and not ${URGENT}
        order by next_at limit $1::int - (select count(*) from urgent) for update skip locked
      )
      update mails set next_at = now() + $2::float8 * interval '1 ms', attempts = attempts + 1
      where id in (select id from urgent union all select id from others)
      returning id, kind, sealed, attempts - 1 as attempts`,
    values: [wanted.count, wanted.leaseMs],
  })
  return {
    mails,
    givenUp: old.rows.map(({ kind, fault }) => `${kind}: ${fault ?? 'unknown'}`),
  }
}

/** Deletes the message with a `withdrawKey`, if it has not been sent. */
export async function withdrawMail(tx: Db | Tx, withdrawKey: string): Promise<void> {
  await queriesOf(tx).deleteFrom('mails').where('once_key', '=', withdrawKey).execute()
}

/**
 * A message by its number and content: a standby that took over without it gives its number to
 * another.
 */
type MailName = Pick<StoredMail, 'id' | 'sealed'>

/** Deletes a message that the mail server accepted, or rejected for good. */
export async function removeMail(db: Db, { id, sealed }: MailName): Promise<void> {
  await db.pool.query('delete from mails where id = $1 and sealed = $2', [id, sealed])
}

/** Postpones a message and stores why the attempt failed. */
export async function postponeMail(
  db: Db,
  { id, sealed }: MailName,
  { afterMs, fault }: { readonly afterMs: number; readonly fault: string },
): Promise<void> {
  await db.pool.query(
    `update mails set next_at = now() + $3::float8 * interval '1 ms', fault = $4
     where id = $1 and sealed = $2`,
    [id, sealed, afterMs, fault.slice(0, 500)],
  )
}

/** Milliseconds until the next message is due; undefined if none waits. */
export async function nextMailMs(db: Db): Promise<number | undefined> {
  const { rows } = await db.pool.query<{ ms: number | null }>(
    'select extract(epoch from min(next_at) - now())::float8 * 1000 as ms from mails',
  )
  const ms = rows[0]?.ms ?? undefined
  return ms === undefined ? undefined : Math.max(0, ms)
}
