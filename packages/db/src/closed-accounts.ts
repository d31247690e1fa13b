import type { KeyMode } from '@plumbline/contract/plans'
import { sql } from 'kysely'
import type { Db, Tx } from './database.ts'
import { deleteSome, inSteps, type Steps } from './in-steps.ts'
import { deleteWebhook, listWebhooks } from './webhooks/endpoints.ts'

/**
 * Minutes after the closing of an account for which new data of it are looked for, longer than any
 * request lasts that was admitted before: a large file may be copied into the store all that time.
 */
const LATE_MINUTES = 60

/**
 * Closed accounts whose data are not erased yet, or that got some later by a request that was under
 * way; in no order, so that one that cannot be erased yet does not block the others.
 */
export async function listUnerased(db: Db, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select id from accounts where status = 'closed' and erased_at is null
      union all
      select id from accounts a
      where status = 'closed' and erased_at is not null
        and status_at > now() - make_interval(mins => ${LATE_MINUTES}) and (
          exists (select from batches where account_id = a.id)
          or exists (select from idempotency_keys where account_id = a.id)
          or exists (select from webhook_endpoints where account_id = a.id)
          or exists (select from erasures where account_id = a.id))
    ) unerased order by random() limit ${limit}`.execute(db.kysely)
  return rows.map(({ id }) => id)
}

/** Batches of an account that are not being erased yet, of live and test keys. */
export async function listOwnBatches(
  db: Db,
  accountId: string,
  limit: number,
): Promise<readonly { readonly id: string; readonly mode: KeyMode }[]> {
  return await db.kysely
    .selectFrom('batches')
    .select(['id', 'mode'])
    .where('account_id', '=', accountId)
    .where('erasing', 'is distinct from', 'all')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Whether anything of a batch of the account is left, or one of its erasures is under way. */
export async function hasDataInWork(db: Db, accountId: string): Promise<boolean> {
  const batches = db.kysely.selectFrom('batches').select('id').where('account_id', '=', accountId)
  const erasures = db.kysely
    .selectFrom('erasures')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', '=', 'running')
  const row = await batches.unionAll(erasures).limit(1).executeTakeFirst()
  return row !== undefined
}

/**
 * Deletes what a closed account may have very much of, in bounded statements: webhook
 * endpoints with their deliveries, stored responses, receipts of erasures.
 *
 * @returns false if the signal has aborted between two statements: another call goes on
 */
export async function deleteManyRows(
  db: Db,
  accountId: string,
  steps: Steps = {},
): Promise<boolean> {
  for (const { id } of await listWebhooks(db, accountId)) {
    if (steps.signal?.aborted === true) return false
    await deleteWebhook(db, { accountId, id }, steps)
  }
  for (const table of ['idempotency_keys', 'erasures']) {
    if (!(await inSteps(db, deleteSome(table, 'account_id = $2'), [accountId], steps))) return false
  }
  return true
}

/**
 * Erases the personal data of a closed account: address, name, keys, stored responses, webhook
 * endpoints and their deliveries, receipts of erasures. Its batches must be erased, its erasures
 * ended, and its many rows deleted first. Its credits stay, under its id.
 */
export async function eraseAccount(tx: Tx, accountId: string): Promise<void> {
  const id = sql`${accountId}`
  await sql`delete from idempotency_keys where account_id = ${id}`.execute(tx)
  await sql`delete from webhook_events where account_id = ${id}`.execute(tx)
  await sql`delete from webhook_endpoints where account_id = ${id}`.execute(tx)
  await sql`delete from erasures where account_id = ${id}`.execute(tx)
  await sql`delete from api_keys where account_id = ${id}`.execute(tx)
  await sql`update accounts set email = 'closed', name = null, status_reason = null, erased_at = now()
    where id = ${id}`.execute(tx)
}
