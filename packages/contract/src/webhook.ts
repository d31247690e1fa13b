import { z } from 'zod'
import { DELIVERY_STATES, WEBHOOK_RESPONSE_BYTES, WEBHOOK_URL_CHARS } from './webhook-limits.ts'

/** What an endpoint can be told of. */
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
/** One of them. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** What is sent on request, to try an endpoint out; nobody subscribes to it. */
export const WEBHOOK_TEST = 'webhook.test'
/** What a message can be about. */
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

/** `POST /v1/webhooks`. */
export const webhookRequest = z.strictObject({ url, events })
/** The endpoint that is wanted. */
export type WebhookRequest = z.infer<typeof webhookRequest>

/** `PATCH /v1/webhooks/{id}`: what is sent is changed. `enabled: true` tries an endpoint again that was switched off. */
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
/** What of an endpoint is to change. */
export type WebhookChange = z.infer<typeof webhookChange>

/** `POST /v1/webhooks/{id}/replay`: sends again what was told since that time. */
export const webhookReplay = z.strictObject({
  since: z.iso.datetime({
    offset: true,
    error: 'Send `since` as a time like 2026-11-22T10:00:00Z.',
  }),
})

/** An endpoint as it is shown, without its secret. */
export const webhookView = z.strictObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  created_at: z.iso.datetime(),
  enabled: z.boolean(),
  /** When and why nothing is sent any more; null while it is enabled. */
  disabled_at: z.iso.datetime().nullable(),
  disabled_reason: z.enum(['gone', 'failing', 'by_request']).nullable().meta({
    description: '`gone`: it answered 410. `failing`: nothing arrived for five days.',
  }),
  /** Since when every delivery fails; null if the last one arrived. */
  failing_since: z.iso.datetime().nullable(),
})
/** An endpoint as it is shown. */
export type WebhookView = z.infer<typeof webhookView>

/** An endpoint with its new secret, which is shown this once. */
export const webhookWithSecret = webhookView.extend({
  secret: z.string().meta({ description: '`whsec_` and base64; Standard Webhooks 1.0.' }),
})
/** An endpoint with its new secret. */
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>

/** `GET /v1/webhooks`. */
export const webhookList = z.strictObject({ data: z.array(webhookView) })
/** The endpoints of an account, oldest first. */
export type WebhookList = z.infer<typeof webhookList>

/** A message to one endpoint, and what came of it. */
export const webhookDelivery = z.strictObject({
  id: z.string(),
  /** The header `webhook-id`: the same in every attempt, and for every endpoint that is told. */
  webhook_id: z.string(),
  type: z.enum([...WEBHOOK_EVENTS, WEBHOOK_TEST]),
  status: z.enum(DELIVERY_STATES),
  created_at: z.iso.datetime(),
  attempts: z.int().min(0),
  /** Null if there is none. */
  next_attempt_at: z.iso.datetime().nullable(),
  /** Of the last attempt; null before the first. */
  attempted_at: z.iso.datetime().nullable(),
  duration_ms: z.int().min(0).nullable(),
  request: z.strictObject({ url: z.string(), body: z.string() }),
  /** What came back; null if nothing did, and then `error` says why. */
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

/** What `POST /v1/webhooks/{id}/replay` answers. */
export const webhookReplayed = z.strictObject({ replayed: z.int().min(0) })
/** How many messages are on their way again. */
export type WebhookReplayed = z.infer<typeof webhookReplayed>

/** The body of every message. Source: Standard Webhooks 1.0, payload structure. */
export const webhookMessage = z.strictObject({
  type: z.enum([...WEBHOOK_EVENTS, WEBHOOK_TEST]),
  timestamp: z.iso.datetime(),
  /** What its GET gives. */
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
