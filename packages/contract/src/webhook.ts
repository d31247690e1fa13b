import { z } from 'zod'
import { DELIVERY_STATES, WEBHOOK_RESPONSE_BYTES, WEBHOOK_URL_CHARS } from './webhook-limits.ts'

/** Events that an endpoint can subscribe to. */
export const WEBHOOK_EVENTS = [
  'batch.ready',
  'batch.completed',
  'batch.failed',
  'batch.canceled',
  'lookup.completed',
  'credits.low',
  'credits.exhausted',
  'key.replaced',
] as const
/** Event that an endpoint can subscribe to. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** The event of a test message; it cannot be subscribed to. */
export const WEBHOOK_TEST = 'webhook.test'
/** Type of a message: an event, or a test. */
export type WebhookType = WebhookEvent | typeof WEBHOOK_TEST

const url = z
  .string('Send `url` as a string.')
  .max(WEBHOOK_URL_CHARS, `\`url\` may have at most ${WEBHOOK_URL_CHARS} characters.`)
  .refine(isHttpUrl, '`url` must be an http or https address without a user or password.')

const events = z
  .array(
    z.enum(WEBHOOK_EVENTS, `\`events\` takes ${WEBHOOK_EVENTS.join(', ')}.`),
    `Send \`events\` as an array of ${WEBHOOK_EVENTS.join(', ')}.`,
  )
  .min(1, 'Name at least one event in `events`.')
  .max(WEBHOOK_EVENTS.length, 'Name each event in `events` once.')
  .refine((named) => new Set(named).size === named.length, 'Name each event in `events` once.')

/** Body of `POST /v1/webhooks`. */
export const webhookRequest = z.strictObject({ url, events })
/** Address and events of a new endpoint. */
export type WebhookRequest = z.infer<typeof webhookRequest>

/**
 * `PATCH /v1/webhooks/{id}`: changes what is sent. `enabled: true` enables a disabled endpoint
 * again.
 */
export const webhookChange = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    enabled: z.boolean('Send `enabled` as true or false.').optional(),
  })
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'Send at least one of `url`, `events` and `enabled`.',
  )
/** Changes to an endpoint. */
export type WebhookChange = z.infer<typeof webhookChange>

/** `POST /v1/webhooks/{id}/replay`: sends all messages since that time again. */
export const webhookReplay = z.strictObject({
  since: z.iso.datetime({
    offset: true,
    error: 'Send `since` as a time like 2026-11-22T10:00:00Z.',
  }),
})

/** An endpoint without its secret. */
export const webhookView = z.strictObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  created_at: z.iso.datetime(),
  enabled: z.boolean(),
  /** When and why it was disabled; null while it is enabled. */
  disabled_at: z.iso.datetime().nullable(),
  disabled_reason: z.enum(['gone', 'failing', 'by_request']).nullable().meta({
    description:
      '`gone`: it answered 410. `failing`: nothing arrived for days, five unless the operator says otherwise.',
  }),
  /** Since when every delivery has failed; null if the last one succeeded. */
  failing_since: z.iso.datetime().nullable(),
})
/** An endpoint without its secret. */
export type WebhookView = z.infer<typeof webhookView>

/** An endpoint with its new secret, which is shown only once. */
export const webhookWithSecret = webhookView.extend({
  secret: z.string().meta({ description: '`whsec_` and base64; Standard Webhooks 1.0.' }),
})
/** An endpoint with its new secret. */
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>

/** Response of `GET /v1/webhooks`. */
export const webhookList = z.strictObject({ data: z.array(webhookView) })
/** The endpoints of an account, oldest first. */
export type WebhookList = z.infer<typeof webhookList>

/** A message to one endpoint, and its result. */
export const webhookDelivery = z.strictObject({
  id: z.string(),
  /** The header `webhook-id`: the same in every attempt, and for every endpoint. */
  webhook_id: z.string(),
  type: z.enum([...WEBHOOK_EVENTS, WEBHOOK_TEST]),
  status: z.enum(DELIVERY_STATES),
  created_at: z.iso.datetime(),
  attempts: z.int().min(0),
  /** When the next attempt is due; null if there is none. */
  next_attempt_at: z.iso.datetime().nullable(),
  /** Time of the last attempt; null before the first. */
  attempted_at: z.iso.datetime().nullable(),
  duration_ms: z.int().min(0).nullable(),
  request: z.strictObject({ url: z.string(), body: z.string() }),
  /** The response; null if there was none, and then `error` says why. */
  response: z
    .strictObject({
      status: z.int(),
      body: z.string().meta({ description: `Its first ${WEBHOOK_RESPONSE_BYTES} bytes.` }),
    })
    .nullable(),
  error: z.string().nullable(),
})
/** A message to one endpoint. */
export type WebhookDelivery = z.infer<typeof webhookDelivery>

/** `GET /v1/webhooks/{id}/deliveries`, newest first. */
export const webhookDeliveries = z.strictObject({
  data: z.array(webhookDelivery),
  next_cursor: z.string().nullable(),
})
/** One page of deliveries. */
export type WebhookDeliveries = z.infer<typeof webhookDeliveries>

/** Response of `POST /v1/webhooks/{id}/replay`. */
export const webhookReplayed = z.strictObject({ replayed: z.int().min(0) })
/** How many messages are sent again. */
export type WebhookReplayed = z.infer<typeof webhookReplayed>

/** The body of every message. Source: Standard Webhooks 1.0, payload structure. */
export const webhookMessage = z.strictObject({
  type: z.enum([...WEBHOOK_EVENTS, WEBHOOK_TEST]),
  timestamp: z.iso.datetime(),
  /** The object that the event is about, as the API returns it. */
  data: z.record(z.string(), z.unknown()),
})
/** The body of a message. */
export type WebhookMessage = z.infer<typeof webhookMessage>

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, hostname } = new URL(text)
  const isHttp = protocol === 'https:' || protocol === 'http:'
  return isHttp && username === '' && password === '' && hostname !== ''
}
