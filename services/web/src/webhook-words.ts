import type { WebhookEvent, WebhookType } from '@plumbline/contract/webhook'
import type { DeliveryState } from '@plumbline/contract/webhook-limits'

/** Events of an endpoint, in words. */
export const EVENT_WORDS: Readonly<Record<WebhookEvent, string>> = {
  'batch.ready': 'A batch is ready to start',
  'batch.completed': 'A batch has completed',
  'batch.failed': 'A batch has failed',
  'batch.canceled': 'A batch was canceled',
  'lookup.completed': 'A lookup in the background has ended',
  'credits.low': 'Credits are low',
  'credits.exhausted': 'Credits have run out',
  'key.replaced': 'A key was replaced',
}

/** The type of a message, in words. */
export function messageWords(type: WebhookType): string {
  return type === 'webhook.test' ? 'A test' : EVENT_WORDS[type]
}

/** The states of deliveries in words, as a filter names them. */
export const DELIVERY_WORDS: Readonly<Record<DeliveryState, string>> = {
  pending: 'On its way',
  delivered: 'Arrived',
  failed: 'Given up',
}
