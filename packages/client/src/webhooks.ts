import type {
  WebhookChange,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookList,
  WebhookMessage,
  WebhookReplayed,
  WebhookRequest,
  WebhookView,
  WebhookWithSecret,
} from '@plumbline/contract/webhook'
import type { DeliveryState } from '@plumbline/contract/webhook-limits'
import { queryOf, type CallOptions, type Connection } from './connection.ts'
import { webCrypto } from './web-crypto.ts'

/** Filters of a listing of deliveries. */
export interface DeliveriesPage {
  readonly limit?: number
  readonly cursor?: string
  readonly status?: DeliveryState
}

/** Calls for webhook endpoints. */
export interface WebhookCalls {
  /** The response holds the secret, which is not shown again. */
  create(endpoint: WebhookRequest, options?: CallOptions): Promise<WebhookWithSecret>
  list(options?: CallOptions): Promise<WebhookList>
  get(id: string, options?: CallOptions): Promise<WebhookView>
  change(id: string, change: WebhookChange, options?: CallOptions): Promise<WebhookView>
  delete(id: string, options?: CallOptions): Promise<void>
  /** Creates a new secret; for a day messages are signed with the old one, too. */
  rotate(id: string, options?: CallOptions): Promise<WebhookWithSecret>
  /** Sends a message `webhook.test`. */
  test(id: string, options?: CallOptions): Promise<WebhookDelivery>
  deliveries(id: string, page?: DeliveriesPage, options?: CallOptions): Promise<WebhookDeliveries>
  replay(id: string, delivery: string, options?: CallOptions): Promise<WebhookDelivery>
  replaySince(id: string, since: Date, options?: CallOptions): Promise<WebhookReplayed>
}

/** Makes the calls for endpoints over a connection. */
export function webhookCalls({ json, send }: Connection): WebhookCalls {
  const post = <T>(path: string, call?: CallOptions, body?: object): Promise<T> =>
    json<T>({ method: 'POST', path, ...(body === undefined ? {} : { json: body }), ...call })
  return {
    create: (endpoint, call) => post('/v1/webhooks', call, endpoint),
    list: (call) => json({ method: 'GET', path: '/v1/webhooks', ...call }),
    get: (id, call) => json({ method: 'GET', path: pathOf(id), ...call }),
    change: (id, change, call) =>
      json({ method: 'PATCH', path: pathOf(id), json: change, ...call }),
    delete: async (id, call) => {
      await send({ method: 'DELETE', path: pathOf(id), ...call })
    },
    rotate: (id, call) => post(`${pathOf(id)}/rotate`, call),
    test: (id, call) => post(`${pathOf(id)}/test`, call),
    deliveries: (id, { limit, cursor, status } = {}, call) => {
      const path = `${pathOf(id)}/deliveries${queryOf({ limit, cursor, status })}`
      return json({ method: 'GET', path, ...call })
    },
    replay: (id, delivery, call) =>
      post(`${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/replay`, call),
    replaySince: (id, since, call) =>
      post(`${pathOf(id)}/replay`, call, { since: since.toISOString() }),
  }
}

function pathOf(id: string): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`
}

/**
 * Allowed difference of a message's time in seconds. Source: Standard Webhooks 1.0, "Verifying
 * timestamps".
 */
const TOLERANCE_SECONDS = 300

/** The headers of a message: `Headers`, or an object with lower-case names. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Verifies that a message comes from the service, and parses it.
 * @param secret the secret of the endpoint, `whsec_...`
 * @param body the body byte for byte as received
 * @throws if signature or time are wrong, or a header is missing
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: string,
): Promise<WebhookMessage> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => headerOf(headers, name),
  )
  const ageSeconds = Math.abs(Date.now() / 1_000 - Number(timestamp))
  if (!(ageSeconds <= TOLERANCE_SECONDS)) throw new Error('the message is too old or too new')
  const bytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (bytes === undefined) throw new Error('the secret is not one of an endpoint: whsec_...')
  const { subtle } = await webCrypto()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await subtle.importKey('raw', bytes, algorithm, false, ['verify'])
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  for (const signature of (signatures ?? '').split(' ')) {
    const [version, digest = ''] = signature.split(',')
    const given = version === 'v1' ? bytesOf(digest) : undefined
    if (given === undefined) continue
    // The comparison of the platform takes the same time wherever they differ.
    if (await subtle.verify('HMAC', key, given, signed)) {
      // Safe because the service has signed it, and its shapes are the contract's.
      return JSON.parse(body) as WebhookMessage
    }
  }
  throw new Error('the message is not signed by the secret of this endpoint')
}

/** The bytes of a text in base64; undefined for other text. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? (headers.get(name) ?? undefined) : headers[name]
  const text = typeof value === 'string' ? value : value?.[0]
  if (text === undefined) throw new Error(`the message has no header ${name}`)
  return text
}

function isHeaders(headers: WebhookHeaders): headers is Pick<Headers, 'get'> {
  return typeof headers['get'] === 'function'
}
