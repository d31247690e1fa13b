import { WEBHOOK_TEST } from '@plumbline/contract/webhook'
import type { DeliveryState } from '@plumbline/contract/webhook-limits'
import { sql, type RawBuilder, type Selectable } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { newId } from '../ids.ts'
import { jsonbText } from '../jsonb.ts'
import type { WebhookDeliveryRow } from '../tables/webhooks.ts'

/** A message to one endpoint, as stored. */
export type DeliveryRow = Readonly<Selectable<WebhookDeliveryRow>>

/**
 * A message that is due. `attempt` is a fencing number: a result of another attempt is not stored.
 */
export interface DueDelivery {
  readonly id: string
  readonly accountId: string
  readonly endpointId: string
  readonly webhookId: string
  readonly attempt: number
  readonly url: string
  readonly body: string
  /** Encrypted; the newest first. */
  readonly secrets: readonly string[]
}

/**
 * Adds a test message to an endpoint, due at once. Only the newest `kept` of an endpoint stay,
 * whether they were sent or not.
 */
export async function createTestDelivery(
  tx: Tx,
  endpointId: string,
  { body, kept }: { readonly body: string; readonly kept: number },
): Promise<DeliveryRow> {
  const made = await tx
    .insertInto('webhook_deliveries')
    .values({
      id: newId('dlv'),
      endpoint_id: endpointId,
      webhook_id: newId('msg'),
      type: WEBHOOK_TEST,
      // Found by the index of subjects when later ones take its place.
      subject: endpointId,
      body,
      attempted_at: null,
      duration_ms: null,
      url: null,
      response_status: null,
      response_body: null,
      error: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await sql`
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries where id in (
        select id from webhook_deliveries where subject = ${endpointId} and type = ${WEBHOOK_TEST}
        order by created_at desc, id desc offset ${kept})
      for update skip locked)
  `.execute(tx)
  return made
}

/** One message of an endpoint; undefined if there is none. */
export async function findDelivery(
  db: Db | Tx,
  endpointId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  return await queriesOf(db)
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('endpoint_id', '=', endpointId)
    .executeTakeFirst()
}

/**
 * A page of an endpoint's messages, newest first; `before` is the last message of the page before.
 */
export async function pageOfDeliveries(
  db: Db,
  endpointId: string,
  page: {
    readonly limit: number
    readonly before: DeliveryRow | undefined
    readonly status: DeliveryState | undefined
  },
): Promise<readonly DeliveryRow[]> {
  const { before, status } = page
  return await db.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .$if(status !== undefined, (all) => all.where('status', '=', status ?? 'pending'))
    .$if(before !== undefined, (all) =>
      // Compared by row: a timestamp loses its microseconds when the driver parses it.
      all.where(
        sql<boolean>`(created_at, id) < (select created_at, id from webhook_deliveries
          where id = ${before?.id ?? ''})`,
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .execute()
}

/**
 * Makes a message due again, under its id; one that waits for its next attempt is due at once.
 *
 * @returns the message as it is then; undefined if there is none
 */
export async function replayOne(
  tx: Tx,
  endpointId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  await makeDue(tx, sql`id = ${id} and endpoint_id = ${endpointId}`, 1)
  return await findDelivery(tx, endpointId, id)
}

/**
 * Makes the messages since a time due again, in the order of creation, `most` at most; returns how
 * many. Those that are due already are not counted.
 */
export async function replaySince(
  tx: Tx,
  endpointId: string,
  since: Date,
  most: number,
): Promise<number> {
  return await makeDue(tx, sql`endpoint_id = ${endpointId} and created_at >= ${since}`, most)
}

/**
 * Sends stored messages again. No row is added, so that repeats take no space. A message that waits
 * for its next attempt keeps the number of its attempts: it may be under way.
 */
async function makeDue(tx: Tx, which: RawBuilder<unknown>, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with told as (
      select id, status, created_at from webhook_deliveries
      where ${which} and not (status = 'pending' and due_at <= clock_timestamp())
      order by created_at, id limit ${most} for update skip locked
    ), placed as (
      select id, status,
        clock_timestamp() + row_number() over (order by created_at, id) * interval '1 us' as due_at
      from told
    ), waiting as (
      update webhook_deliveries d set due_at = p.due_at
      from placed p where d.id = p.id and p.status = 'pending' returning 1
    ), ended as (
      update webhook_deliveries d
      set status = 'pending', due_at = p.due_at, attempts = 0, attempted_at = null,
        duration_ms = null, url = null, response_status = null, response_body = null, error = null
      from placed p where d.id = p.id and p.status <> 'pending' returning 1
    )
    select ((select count(*) from waiting) + (select count(*) from ended))::int as count
  `.execute(tx)
  return rows[0]?.count ?? 0
}

/** The current time as a value that ends a search in an index, as the function itself does not. */
const NOW = sql`(select clock_timestamp())`

/** How many messages of an endpoint are due and not under way, counted up to `most`. */
export async function countDue(db: Db | Tx, endpointId: string, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from webhook_deliveries
      where endpoint_id = ${endpointId} and status = 'pending' and due_at <= ${NOW}
      limit ${most}) due
  `.execute(queriesOf(db))
  return rows[0]?.count ?? 0
}

/** How many messages `takeDue` may take. */
export interface WantedDeliveries {
  readonly most: number
  /** For one endpoint, and for those that differ; 0 skips an endpoint. */
  readonly each: number
  readonly busy: Readonly<Record<string, number>>
  /** Endpoints that fail, and how many messages are for all of these together. */
  readonly failing: readonly string[]
  readonly ofFailing: number
  /** For one account, and for those that have messages under way. */
  readonly ofAccount: number
  readonly busyAccounts: Readonly<Record<string, number>>
}

/** Messages that were taken. */
export interface TakenDeliveries {
  readonly due: readonly DueDelivery[]
  /** Where the next call goes on; empty if this one has seen the last endpoint that waits. */
  readonly after: string
}

/** Endpoints with waiting messages that one statement looks at. */
const ENDPOINTS_SEEN = 500

const TAKE_DUE = `
  with recursive waiting as (
    (select endpoint_id, due_at from webhook_deliveries
     where status = 'pending' and endpoint_id > $7 order by endpoint_id, due_at limit 1)
    union all
    select next.* from waiting w, lateral (
      select endpoint_id, due_at from webhook_deliveries
      where status = 'pending' and endpoint_id > w.endpoint_id
      order by endpoint_id, due_at limit 1) next
  ), seen as (
    select * from waiting limit $8
  ), endpoints as (
    select e.*, coalesce(($3::jsonb->>e.id)::int, $2::int) as room,
      coalesce(($5::jsonb->>e.account_id)::int, $4::int) as account_room,
      e.id in (select unnest($9::text[])) as is_failing
    from seen s join webhook_endpoints e on e.id = s.endpoint_id
    where s.due_at <= clock_timestamp() and e.disabled_at is null
  ), waiting_each as (
    select d.id, d.due_at, e.account_id, e.account_room, e.is_failing,
      row_number() over (partition by e.account_id, e.is_failing order by d.due_at) as place
    from endpoints e, lateral (
      select id, due_at from webhook_deliveries
      -- A range of the index of endpoints, which ends at the time as a subquery gives it: no
      -- message that is due later is read, nor those of other endpoints.
      where status = 'pending' and (endpoint_id, due_at) >= (e.id, '-infinity')
        and (endpoint_id, due_at) <= (e.id, (select clock_timestamp()))
      order by endpoint_id, due_at limit e.room) d
  ), ordered as (
    select *, row_number() over (partition by is_failing order by place - account_room, due_at)
      as turn
    from waiting_each where place <= account_room
  ), placed as (
    -- Only now, so that messages which cannot be taken hold no place of their account.
    select id, due_at, account_room,
      row_number() over (partition by account_id order by due_at) as place
    from ordered where not is_failing or turn <= $10::int
  ), chosen as (
    -- More than are wanted, for those that another process is taking at this moment.
    select id, place - account_room as turn, due_at from placed where place <= account_room
    order by turn, due_at limit 2 * $1::int
  ), due as (
    select d.id from chosen c join webhook_deliveries d on d.id = c.id
    where d.status = 'pending' and d.due_at <= clock_timestamp()
    order by c.turn, c.due_at limit $1 for update of d skip locked
  ), taken as (
    update webhook_deliveries d
    set attempts = attempts + 1, attempted_at = clock_timestamp(),
      due_at = clock_timestamp() + $6::int * interval '1 ms'
    where d.id = any(array(select id from due))
    returning d.*
  )
  select t.id, e.account_id as "accountId", t.endpoint_id as "endpointId",
    t.webhook_id as "webhookId", t.attempts as attempt, e.url, t.body,
    array_remove(array[e.secret,
      case when e.old_secret_until > clock_timestamp() then e.old_secret end,
      case when e.older_secret_until > clock_timestamp() then e.older_secret end], null) as secrets,
    last.after
  from (select case when count(*) = $8 then max(endpoint_id) else '' end as after from seen) last
  left join (taken t join endpoints e on e.id = t.endpoint_id) on true`

/**
 * Leases messages that are due, and postpones each by `lostAfterMs`: if the process dies, they are
 * sent after that time. Accounts take turns, the one with the fewest messages under way first; of an
 * account the oldest messages go first. Looks at the endpoints behind the id `after` that have
 * waiting messages, 500 at most, at one index entry each; no others cost anything.
 */
export async function takeDue(
  db: Db,
  wanted: WantedDeliveries & { readonly after: string; readonly lostAfterMs: number },
  seen = ENDPOINTS_SEEN,
): Promise<TakenDeliveries> {
  const { rows } = await db.pool.query<
    (DueDelivery | { readonly [Column in keyof DueDelivery]: null }) & { readonly after: string }
  >({
    name: 'webhooks.take-due',
    text: TAKE_DUE,
    values: [
      wanted.most,
      wanted.each,
      jsonbText(wanted.busy),
      wanted.ofAccount,
      jsonbText(wanted.busyAccounts),
      wanted.lostAfterMs,
      wanted.after,
      seen,
      [...wanted.failing],
      wanted.ofFailing,
    ],
  })
  return { due: rows.filter((row) => row.id !== null), after: rows[0]?.after ?? '' }
}

/** Deletes messages about erased subjects. */
export async function deleteDeliveriesAbout(tx: Tx, subjects: readonly string[]): Promise<void> {
  await tx
    .deleteFrom('webhook_deliveries')
    .where('subject', 'in', [...subjects])
    .execute()
}

/** Overwrites the texts of a message with blanked ones. */
export async function blankDelivery(
  tx: Tx,
  delivery: {
    readonly id: string
    readonly body: string
    readonly responseBody: string | null
    readonly error: string | null
  },
): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({
      body: delivery.body,
      response_body: delivery.responseBody,
      error: delivery.error,
    })
    .where('id', '=', delivery.id)
    .execute()
}
