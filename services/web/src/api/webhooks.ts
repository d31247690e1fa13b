import type { WebhookDeliveries, WebhookList, WebhookView } from '@plumbline/contract/webhook'
import type { DeliveryState } from '@plumbline/contract/webhook-limits'
import { queryOptions } from '@tanstack/preact-query'
import { callJson } from './http.ts'

/** Deliveries of one page. */
const PAGE_DELIVERIES = 20

/** The path of an endpoint. */
export function webhookPath(id: string): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`
}

/** The endpoints of the account. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async ({ signal }) =>
    await callJson<WebhookList>('GET', '/v1/webhooks', undefined, { signal }),
})

/** Query key of one endpoint, and prefix of that of its deliveries. */
export function webhookKey(id: string): readonly unknown[] {
  return ['webhook', id]
}

/** Reads one endpoint. */
export async function readWebhook(id: string, signal: AbortSignal): Promise<WebhookView> {
  return await callJson<WebhookView>('GET', webhookPath(id), undefined, { signal })
}

/** Reads a page of an endpoint's deliveries, newest first; of any state if `status` is empty. */
export async function readDeliveries(
  id: string,
  { status, cursor }: { readonly status: DeliveryState | ''; readonly cursor: string },
  signal: AbortSignal,
): Promise<WebhookDeliveries> {
  const query = new URLSearchParams({ limit: String(PAGE_DELIVERIES) })
  if (status !== '') query.set('status', status)
  if (cursor !== '') query.set('cursor', cursor)
  const path = `${webhookPath(id)}/deliveries?${query.toString()}`
  return await callJson<WebhookDeliveries>('GET', path, undefined, { signal })
}
