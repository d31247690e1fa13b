import type { DeliveryState } from '@plumbline/contract/webhook-limits'
import type { Db } from '../database.ts'
import { jsonbText } from '../jsonb.ts'

/** Result of an attempt. */
export interface AttemptResult {
  readonly id: string
  readonly endpointId: string
  readonly attempt: number
  readonly url: string
  /** SHA-256 of the body that was sent, in hex. */
  readonly bodySha256: string
  readonly status: DeliveryState
  /** Milliseconds from now until the next attempt; used only if the message is pending. */
  readonly againMs: number
  readonly durationMs: number
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly error: string | null
  /** Reason for disabling the endpoint; null if it stays enabled. */
  readonly disable: 'gone' | null
}

/** How long an endpoint may fail. */
export interface FailureLimits {
  /** Days of failures, without success and without a pause, after which an endpoint is disabled. */
  readonly failingDays: number
  /**
   * Milliseconds without an attempt after which failures count anew, longer than a message waits
   * for its next one: nobody knows whether the endpoint worked meanwhile.
   */
  readonly pauseMs: number
}

/** Whether the failures of endpoint `e` last too long, with the limits as $2 and $3. */
const FAILS_TOO_LONG = `(not s.arrived
  and e.failing_since < clock_timestamp() - $2::float8 * interval '1 day'
  and coalesce(e.failed_at >= clock_timestamp() - $3::float8 * interval '1 ms', true))`

/**
 * Stores the results of attempts and the health of their endpoints, which may disable these. Of a
 * message from which a value was erased while it was under way the response is left out: it may
 * repeat that value.
 */
export async function storeAttemptResults(
  db: Db,
  results: readonly AttemptResult[],
  { failingDays, pauseMs }: FailureLimits,
): Promise<void> {
  await db.pool.query({
    name: 'webhooks.keep-results',
    text: `
      with result as (
        select * from jsonb_to_recordset($1::jsonb) as r("id" text, "endpointId" text, "attempt" int,
          "url" text, "bodySha256" text, "status" text, "againMs" float8, "durationMs" int,
          "responseStatus" int, "responseBody" text, "error" text, "disable" text)
      ), kept as (
        update webhook_deliveries d
        set status = r."status", due_at = clock_timestamp() + r."againMs" * interval '1 ms',
          duration_ms = r."durationMs", url = r."url", response_status = r."responseStatus",
          response_body = case
            when encode(sha256(convert_to(d.body, 'UTF8')), 'hex') = r."bodySha256"
            then r."responseBody" end,
          error = r."error"
        from result r where d.id = r."id" and d.attempts = r."attempt" and d.status = 'pending'
      ), standing as (
        select "endpointId" as id, "url", bool_or("status" = 'delivered') as arrived,
          max("disable") as disable from result group by "endpointId", "url"
      )
      update webhook_endpoints e
      set failing_since = case when s.arrived then null
            when e.failed_at < clock_timestamp() - $3::float8 * interval '1 ms'
              then clock_timestamp()
            else coalesce(e.failing_since, clock_timestamp()) end,
        failed_at = case when s.arrived then e.failed_at else clock_timestamp() end,
        disabled_at = case when s.disable is not null or ${FAILS_TOO_LONG}
          then coalesce(e.disabled_at, clock_timestamp()) else e.disabled_at end,
        disabled_reason = case when s.disable is not null or ${FAILS_TOO_LONG}
          then coalesce(e.disabled_reason, s.disable, 'failing') else e.disabled_reason end
      from standing s
      -- What an address answered that the endpoint no longer has says nothing of the new one.
      where e.id = s.id and e.url = s."url" and (not s.arrived or e.failing_since is not null)`,
    values: [jsonbText(results), failingDays, pauseMs],
  })
}
