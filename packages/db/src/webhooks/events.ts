import { createHash } from 'node:crypto'
import type { WebhookType } from '@plumbline/contract/webhook'
import { sql } from 'kysely'
import type { BatchRow } from '../batches/rows.ts'
import { queriesOf, type Db, type Tx } from '../database.ts'

/** An event for subscribed endpoints. */
export interface NotedEvent {
  readonly id: number
  readonly accountId: string
  readonly type: WebhookType
  /** The id of the object that the event is about; empty for the account itself. */
  readonly subject: string
  readonly happenedAt: Date
}

/**
 * Stores an event in the transaction in which it happens; does nothing if no endpoint is subscribed
 * to it.
 */
export async function noteEvent(
  db: Db | Tx,
  event: { readonly accountId: string; readonly type: WebhookType; readonly subject: string },
): Promise<void> {
  await sql`select note_webhook_event(${event.accountId}, ${event.type}, ${event.subject})`.execute(
    queriesOf(db),
  )
}

/** Takes the oldest events that no other process has locked, locked until the transaction ends. */
export async function takeEvents(tx: Tx, most: number): Promise<readonly NotedEvent[]> {
  return await tx
    .selectFrom('webhook_events')
    .select(['id', 'account_id as accountId', 'type', 'subject', 'happened_at as happenedAt'])
    .orderBy('id')
    .limit(most)
    .forUpdate()
    .skipLocked()
    .execute()
}

/**
 * The batches and lookups that messages are about, by id, without those being deleted. They are
 * locked until the transaction ends: a deletion or an erasure of a value waits, and finds the
 * messages.
 */
export async function lockSubjects(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BatchRow>> {
  if (ids.length === 0) return new Map()
  const rows = await tx
    .selectFrom('batches')
    .selectAll()
    .where('id', 'in', [...ids])
    .where(sql<boolean>`erasing is distinct from 'all'`)
    .orderBy('id')
    .forShare()
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** A message made from an event. */
export interface EventMessage {
  readonly event: NotedEvent
  readonly body: string
}

/** Creates a delivery of each message for each endpoint that is subscribed to it. */
export async function createDeliveries(tx: Tx, messages: readonly EventMessage[]): Promise<void> {
  if (messages.length === 0) return
  const rows = messages.map(({ event, body }) => ({
    account: event.accountId,
    webhook_id: webhookIdOf(event),
    type: event.type,
    subject: event.subject,
    body,
  }))
  await sql`
    insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body)
    select 'dlv_' || substr(translate(encode(sha256((m.webhook_id || e.id)::bytea), 'base64'), '+/=', 'xyz'), 1, 16),
      e.id, m.webhook_id, m.type, m.subject, m.body
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as m(account text, webhook_id text, type text, subject text, body text)
    join webhook_endpoints e on e.account_id = m.account
      and e.disabled_at is null and m.type = any (e.events)
  `.execute(tx)
}

/**
 * The id of an event's message, derived from the event: after a failover that lost the message it is
 * made again, and a receiver that has it knows it by this id.
 */
function webhookIdOf({ id, happenedAt, accountId, type, subject }: NotedEvent): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([id, happenedAt, accountId, type, subject]))
    .digest('base64')
  return `msg_${digest.replaceAll(/[+/=]/g, 'x').slice(0, 16)}`
}

/** Deletes events whose messages are created. */
export async function deleteEvents(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx
    .deleteFrom('webhook_events')
    .where('id', 'in', [...ids])
    .execute()
}
