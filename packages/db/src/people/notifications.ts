import type { BatchState } from '@plumbline/contract/batch'
import { sql } from 'kysely'
import { ENDED_STATES } from '../batches/states.ts'
import type { Tx } from '../database.ts'

/** A batch that has ended and that a user wants to be notified of. */
export interface EndedBatch {
  readonly id: string
  readonly status: BatchState
  /** Its name, else the name of its file. */
  readonly name: string | null
  readonly accountId: string
  readonly email: string
  /** Key by which the message can be withdrawn until it is sent. */
  readonly mailKey: string
}

/** A webhook endpoint that was disabled. */
export interface DisabledEndpoint {
  readonly accountId: string
  readonly reason: string
}

/** Records who is notified when a batch ends, in the transaction that creates the batch. */
export async function watchBatchOf(tx: Tx, batchId: string, sessionId: string): Promise<void> {
  await sql`insert into batch_watchers (batch_id, user_id)
    select ${batchId}, user_id from sessions where id = ${sessionId}
    on conflict do nothing`.execute(tx)
}

/**
 * Takes ended batches whose users were not notified, in the transaction that writes the
 * notification and has no other locks to wait for; other processes skip them until its commit, and
 * names are erased before or after it. Triggers mark who watches an ended batch, so that no other is
 * read. A batch may be erased as soon as it has ended: it is told for
 * a day, in the state that it ended in. Users who have left the account are not notified, nor of
 * batches that expired before a start.
 */
export async function takeEndedBatches(tx: Tx, limit: number): Promise<readonly EndedBatch[]> {
  const { rows: taken } = await sql<{ batch_id: string; user_id: string }>`
    delete from batch_watchers where batch_id in (
      select w.batch_id from batch_watchers w join batches b on b.id = w.batch_id
      where w.ended_at is not null order by w.ended_at limit ${limit}
      for update of w skip locked for share of b skip locked)
    returning batch_id, user_id`.execute(tx)
  // A statement of its own, so that it sees the names as they are under the locks.
  const { rows } = await sql<{
    id: string
    status: BatchState | null
    name: string | null
    account_id: string
    email: string
    user_id: string
  }>`select b.id, coalesce(b.name, b.file_name) as name, b.account_id, u.email, u.id as user_id,
      case when b.status <> 'expired' then b.status
        when (b.ats->>'expired')::timestamptz > now() - interval '1 day' then (
          select state from unnest(${[...ENDED_STATES]}::text[]) as state where b.ats ? state)
      end as status
    from unnest(${taken.map(({ batch_id: id }) => id)}::text[],
        ${taken.map(({ user_id: id }) => id)}::text[]) as t (batch_id, user_id)
      join batches b on b.id = t.batch_id
      join members m on m.account_id = b.account_id and m.user_id = t.user_id
      join users u on u.id = m.user_id`.execute(tx)
  return rows.flatMap(({ id, status, name, account_id: accountId, email, user_id: userId }) =>
    status === null
      ? []
      : [{ id, status, name, accountId, email, mailKey: `${mailPrefix(id)}${userId}` }],
  )
}

/**
 * Withdraws the notification of a batch whose name was changed, if it has not been sent: its user is
 * notified anew, with the present name.
 */
export async function renewNotification(tx: Tx, batchId: string): Promise<void> {
  const prefix = mailPrefix(batchId)
  await sql`with withdrawn as (
      delete from mails
      -- A range of their index: the space that ends the prefix is followed by the next character.
      where once_key collate "C" >= ${prefix} and once_key collate "C" < ${prefix.slice(0, -1)} || '!'
      returning substr(once_key, ${prefix.length + 1}) as user_id)
    insert into batch_watchers (batch_id, user_id)
    select ${batchId}, id from users where id in (select user_id from withdrawn)
    on conflict do nothing`.execute(tx)
}

/** Prefix of the key of a batch's message; the user's id follows. */
function mailPrefix(batchId: string): string {
  return `batch ${batchId} `
}

/**
 * Takes endpoints that were disabled and whose owners were not notified, in the transaction that
 * writes the notification.
 */
export async function takeDisabledEndpoints(
  tx: Tx,
  limit: number,
): Promise<readonly DisabledEndpoint[]> {
  const { rows } = await sql<{ account_id: string; reason: string }>`
    update webhook_endpoints set owners_told_at = clock_timestamp() where id in (
      select id from webhook_endpoints
      where disabled_reason in ('gone', 'failing') and owners_told_at is null
      limit ${limit} for update skip locked)
    returning account_id, disabled_reason as reason`.execute(tx)
  return rows.map(({ account_id: accountId, reason }) => ({ accountId, reason }))
}
