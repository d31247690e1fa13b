import type { WebhookEvent } from '@plumbline/contract/webhook'
import { sql, type RawBuilder, type Selectable } from 'kysely'
import { lockAccount } from '../accounts.ts'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { newId } from '../ids.ts'
import { deleteSome, inSteps, type Steps } from '../in-steps.ts'
import type { WebhookEndpointRow } from '../tables/webhooks.ts'

/** A stored endpoint, its secrets encrypted. */
export type WebhookEndpoint = Readonly<Selectable<WebhookEndpointRow>>

/** A new endpoint id. Generated first, since the secret is encrypted under it. */
export function newWebhookId(): string {
  return newId('whk')
}

/**
 * Adds an endpoint, if the account has fewer than `most`.
 *
 * @returns undefined if it has that many
 */
export async function createWebhook(
  tx: Tx,
  wanted: {
    readonly id: string
    readonly accountId: string
    readonly url: string
    readonly events: readonly WebhookEvent[]
    readonly secret: string
    readonly most: number
  },
): Promise<WebhookEndpoint | undefined> {
  // The lock serializes creations, so that the count is exact.
  await lockAccount(tx, wanted.accountId)
  const { count } = await tx
    .selectFrom('webhook_endpoints')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', wanted.accountId)
    .executeTakeFirstOrThrow()
  if (count >= wanted.most) return undefined
  return await tx
    .insertInto('webhook_endpoints')
    .values({
      id: wanted.id,
      account_id: wanted.accountId,
      url: wanted.url,
      events: [...wanted.events],
      secret: wanted.secret,
      old_secret: null,
      old_secret_until: null,
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
      owners_told_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The endpoints of an account, oldest first. */
export async function listWebhooks(db: Db, accountId: string): Promise<readonly WebhookEndpoint[]> {
  return await db.kysely
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** One endpoint of an account; undefined if it does not exist or belongs to another account. */
export async function findWebhook(
  db: Db | Tx,
  accountId: string,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  return await queriesOf(db)
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

/**
 * Changes the given fields; `enabled: true` and another URL clear the endpoint's failures.
 * Undefined if there is no such endpoint.
 */
export async function changeWebhook(
  db: Db,
  which: { readonly accountId: string; readonly id: string },
  change: {
    readonly url?: string | undefined
    readonly events?: readonly WebhookEvent[] | undefined
    readonly enabled?: boolean | undefined
  },
): Promise<WebhookEndpoint | undefined> {
  const state =
    change.enabled === undefined
      ? {}
      : change.enabled
        ? { disabled_at: null, disabled_reason: null, failing_since: null, owners_told_at: null }
        : { disabled_at: sql<Date>`clock_timestamp()`, disabled_reason: 'by_request' as const }
  return await db.kysely
    .updateTable('webhook_endpoints')
    .set({
      ...(change.url === undefined ? {} : { url: change.url, failing_since: ofUrl(change.url) }),
      ...(change.events === undefined ? {} : { events: [...change.events] }),
      ...state,
    })
    .where('id', '=', which.id)
    .where('account_id', '=', which.accountId)
    .returningAll()
    .executeTakeFirst()
}

/** Since when an endpoint has failed at this URL. */
function ofUrl(url: string): RawBuilder<Date | null> {
  return sql<Date | null>`case when url = ${url} then failing_since end`
}

/**
 * Gives an endpoint a new secret; the old one stays valid for some hours, and the one before it for
 * the rest of its own. Undefined if there is no such endpoint, or if both still are: no secret ends
 * before its time.
 */
export async function rotateWebhookSecret(
  tx: Tx,
  which: { readonly accountId: string; readonly id: string },
  { secret, oldHours }: { readonly secret: string; readonly oldHours: number },
): Promise<WebhookEndpoint | undefined> {
  const isValid = sql<boolean>`coalesce(old_secret_until > clock_timestamp(), false)`
  return await tx
    .updateTable('webhook_endpoints')
    .set((eb) => ({
      older_secret: sql<string | null>`case when ${isValid} then old_secret end`,
      older_secret_until: sql<Date | null>`case when ${isValid} then old_secret_until end`,
      old_secret: eb.ref('secret'),
      old_secret_until: sql<Date>`clock_timestamp() + ${oldHours} * interval '1 hour'`,
      secret,
    }))
    .where('id', '=', which.id)
    .where('account_id', '=', which.accountId)
    .where(
      sql<boolean>`not (${isValid} and coalesce(older_secret_until > clock_timestamp(), false))`,
    )
    .returningAll()
    .executeTakeFirst()
}

/**
 * Deletes an endpoint with its deliveries; false if there is none. It is disabled first, so that
 * nothing more is sent, and its deliveries are deleted in bounded statements: who writes messages of
 * others beside them does not wait for all of them. If the signal aborts between two of these, the
 * endpoint stays, disabled, and another call goes on.
 */
export async function deleteWebhook(
  db: Db,
  which: { readonly accountId: string; readonly id: string },
  steps: Steps = {},
): Promise<boolean> {
  if ((await changeWebhook(db, which, { enabled: false })) === undefined) return false
  const messages = deleteSome('webhook_deliveries', 'endpoint_id = $2')
  if (!(await inSteps(db, messages, [which.id], steps))) return true
  const { numDeletedRows } = await db.kysely
    .deleteFrom('webhook_endpoints')
    .where('id', '=', which.id)
    .where('account_id', '=', which.accountId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
