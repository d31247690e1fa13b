import type { WebhookEvent, WebhookType } from '@plumbline/contract/webhook'
import type { DeliveryState } from '@plumbline/contract/webhook-limits'
import type { Generated, GeneratedAlways } from 'kysely'

/** Webhook endpoints, events, and deliveries. */
export interface WebhookTables {
  webhook_endpoints: WebhookEndpointRow
  webhook_events: WebhookEventRow
  webhook_deliveries: WebhookDeliveryRow
}

/** A row of `webhook_endpoints`. */
export interface WebhookEndpointRow {
  /** `whk_` and 16 base62 characters. */
  id: string
  account_id: string
  url: string
  events: WebhookEvent[]
  /** Encrypted under the installation's key, as are the two before it. */
  secret: string
  old_secret: string | null
  old_secret_until: Date | null
  older_secret: Generated<string | null>
  older_secret_until: Generated<Date | null>
  created_at: Generated<Date>
  disabled_at: Date | null
  disabled_reason: 'gone' | 'failing' | 'by_request' | null
  failing_since: Date | null
  /** Time of the last attempt that failed. */
  failed_at: Generated<Date | null>
  owners_told_at: Date | null
}

/** A row of `webhook_events`, from which messages are made. */
export interface WebhookEventRow {
  id: GeneratedAlways<number>
  account_id: string
  type: WebhookType
  subject: string
  happened_at: Generated<Date>
}

/** A row of `webhook_deliveries`. */
export interface WebhookDeliveryRow {
  /** `dlv_` and 16 base62 characters. */
  id: string
  endpoint_id: string
  /** `msg_` and 16 base62 characters. */
  webhook_id: string
  type: WebhookType
  subject: string
  body: string
  status: Generated<DeliveryState>
  created_at: Generated<Date>
  attempts: Generated<number>
  due_at: Generated<Date>
  attempted_at: Date | null
  duration_ms: number | null
  url: string | null
  response_status: number | null
  response_body: string | null
  error: string | null
}
