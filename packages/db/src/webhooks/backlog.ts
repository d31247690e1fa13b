import type { Db } from '../database.ts'

/** Messages that could be sent now: due, not under way, to endpoints that are enabled. */
export interface WebhookBacklog {
  readonly due: number
  /** Seconds for which the oldest of them has been due. */
  readonly oldestSeconds: number
  /**
   * Seconds for which the account that waits longest has had some without being served: none of its
   * messages is under way, and the endpoint does not fail. However slow or dead the endpoints of
   * accounts are, this grows only where the service itself is late.
   */
  readonly unservedSeconds: number
}

const READ = `
  with recursive waiting as (
    (select endpoint_id, due_at from webhook_deliveries
     where status = 'pending' order by endpoint_id, due_at limit 1)
    union all
    select next.* from waiting w, lateral (
      select endpoint_id, due_at from webhook_deliveries
      where status = 'pending' and endpoint_id > w.endpoint_id
      order by endpoint_id, due_at limit 1) next
  ), endpoints as (
    select e.id, e.account_id, e.failing_since is not null as is_failing,
      case when w.due_at <= clock_timestamp() then w.due_at end as due_at
    from waiting w join webhook_endpoints e on e.id = w.endpoint_id
    where e.disabled_at is null
  ), counted as (
    select count(*) as due from endpoints e, lateral (
      select from webhook_deliveries
      where status = 'pending' and endpoint_id = e.id
        and due_at <= (select clock_timestamp())) d
    where e.due_at is not null
  ), accounts as (
    select min(due_at) filter (where not is_failing) as due_at,
      bool_or(exists (
        select from webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id = e.id
          and d.due_at > (select clock_timestamp())
          and d.due_at <= (select clock_timestamp()) + $1::float8 * interval '1 ms'
          and d.attempted_at > (select clock_timestamp()) - $1::float8 * interval '1 ms')) as is_served
    from endpoints e group by account_id
  )
  select (select due from counted)::float8 as due,
    coalesce(extract(epoch from clock_timestamp() - (select min(due_at) from endpoints)), 0)::float8
      as "oldestSeconds",
    coalesce(extract(epoch from clock_timestamp()
      - (select min(due_at) from accounts where not is_served)), 0)::float8 as "unservedSeconds"`

/**
 * Reads one index entry of each endpoint with waiting messages, and those of the messages that are
 * due; messages that wait for their next attempt cost nothing.
 *
 * @param attemptMs milliseconds after which an attempt without a result counts as lost
 */
export async function readWebhookBacklog(db: Db, attemptMs: number): Promise<WebhookBacklog> {
  const { rows } = await db.pool.query<WebhookBacklog>({
    name: 'webhooks.backlog',
    text: READ,
    values: [attemptMs],
  })
  return rows[0] ?? { due: 0, oldestSeconds: 0, unservedSeconds: 0 }
}
