import type {
  WebhookDelivery,
  WebhookMessage,
  WebhookType,
  WebhookView,
} from '@plumbline/contract/webhook'
import type { DeliveryRow } from '@plumbline/db/webhooks/deliveries'
import type { WebhookEndpoint } from '@plumbline/db/webhooks/endpoints'

/** An endpoint as its owner sees it. */
export function webhookViewOf(row: WebhookEndpoint): WebhookView {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    created_at: row.created_at.toISOString(),
    enabled: row.disabled_at === null,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    disabled_reason: row.disabled_reason,
    failing_since: row.failing_since?.toISOString() ?? null,
  }
}

/** A delivery as the owner of its endpoint sees it. */
export function deliveryViewOf(row: DeliveryRow, endpoint: WebhookEndpoint): WebhookDelivery {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    type: row.type,
    status: row.status,
    created_at: row.created_at.toISOString(),
    attempts: row.attempts,
    next_attempt_at:
      row.status === 'pending' && endpoint.disabled_at === null ? row.due_at.toISOString() : null,
    attempted_at: row.attempted_at?.toISOString() ?? null,
    duration_ms: row.duration_ms,
    request: { url: row.url ?? endpoint.url, body: row.body },
    response:
      row.response_status === null
        ? null
        : { status: row.response_status, body: row.response_body ?? '' },
    error: row.error,
  }
}

/** The body of a message. */
export function messageBody(type: WebhookType, happenedAt: Date, data: object): string {
  const message: WebhookMessage = {
    type,
    timestamp: happenedAt.toISOString(),
    data: { ...data },
  }
  return JSON.stringify(message)
}
