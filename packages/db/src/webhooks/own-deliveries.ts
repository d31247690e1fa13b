import type { KeyMode } from '@plumbline/contract/plans'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { DeliveryRow } from './deliveries.ts'

/**
 * Position in a walk through the messages of an account: by endpoint, of each in order of creation.
 */
export interface OwnDeliveryCursor {
  readonly endpointId: string
  /** Timestamp as Postgres prints it, in full precision. */
  readonly createdAt: string
  readonly id: string
}

/** A part of an account's messages; `next` is where the next begins, null after the last. */
export interface OwnDeliveries {
  readonly rows: readonly DeliveryRow[]
  readonly next: OwnDeliveryCursor | null
}

/**
 * Up to `most` messages of one endpoint of an account; for a test key only those among them about
 * its own calls. Read from an index, so that the cost does not grow with what the account has.
 */
export async function pageOfOwnDeliveries(
  db: Db,
  owner: { readonly accountId: string; readonly mode: KeyMode },
  after: OwnDeliveryCursor | null,
  most: number,
): Promise<OwnDeliveries> {
  const endpoints = await db.kysely
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('account_id', '=', owner.accountId)
    .where('id', '>=', after?.endpointId ?? '')
    .orderBy('id')
    .limit(2)
    .execute()
  const [endpoint, following] = endpoints.map(({ id }) => firstOf(id))
  if (endpoint === undefined) return { rows: [], next: null }
  const from = endpoint.endpointId === after?.endpointId ? after : endpoint
  const { rows } = await sql<DeliveryRow & { createdAt: string; isOwn: boolean }>`
    select page.*, created_at::text as "createdAt", ${owner.mode} = 'live' or exists (
      select from batches b where b.id = page.subject and b.mode = ${owner.mode}) as "isOwn"
    from (
      select * from webhook_deliveries where endpoint_id = ${endpoint.endpointId}
        and (created_at, id) > (${from.createdAt}::timestamptz, ${from.id})
      order by created_at, id limit ${most}) page
    order by created_at, id
  `.execute(db.kysely)
  const last = rows.length < most ? undefined : rows.at(-1)
  const { createdAt = '', id = '' } = last ?? {}
  return {
    rows: rows.filter(({ isOwn }) => isOwn),
    next: last === undefined ? (following ?? null) : { ...endpoint, createdAt, id },
  }
}

/** The position before the first message of an endpoint. */
const firstOf = (endpointId: string): OwnDeliveryCursor => ({
  endpointId,
  createdAt: '-infinity',
  id: '',
})
