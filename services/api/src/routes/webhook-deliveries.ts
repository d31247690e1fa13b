import { Problem } from '@plumbline/contract/problem'
import {
  WEBHOOK_TEST,
  webhookReplay,
  type WebhookDeliveries,
  type WebhookReplayed,
} from '@plumbline/contract/webhook'
import { DELIVERY_PAGE, DELIVERY_STATES, WEBHOOK_REPLAY } from '@plumbline/contract/webhook-limits'
import { inTransaction, type Tx } from '@plumbline/db/database'
import {
  countDue,
  createTestDelivery,
  findDelivery,
  pageOfDeliveries,
  replayOne,
  replaySince,
} from '@plumbline/db/webhooks/deliveries'
import { findWebhook, type WebhookEndpoint } from '@plumbline/db/webhooks/endpoints'
import { deliveryViewOf, messageBody, webhookViewOf } from '@plumbline/webhooks/view'
import type { Request, Response } from 'express'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { readQuery } from '../query.ts'
import { callerOf } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { readOnceBody, respondOnce } from './respond-once.ts'
import { sendView } from './send-view.ts'
import { noSuchWebhook, webhookIdOf } from './webhooks.ts'

/** Test messages of one endpoint that are stored. */
const TESTS_KEPT = 100

/** Form of the id of a delivery. */
const DELIVERY_ID = /^dlv_[A-Za-z0-9]{16}$/

/** `GET /v1/webhooks/{id}/deliveries`: the messages to an endpoint, newest first. */
export function listDeliveries(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const endpoint = await findWebhook(ctx.db, accountId, webhookIdOf(req))
    if (endpoint === undefined) throw noSuchWebhook()
    const query = readQuery(req, ['limit', 'cursor', 'status'])
    const limit = query.limit(DELIVERY_PAGE)
    const status = query.oneOf('status', [...DELIVERY_STATES, ''], '')
    const cursor = query.text('cursor', DELIVERY_ID)
    const before =
      cursor === undefined ? undefined : await findDelivery(ctx.db, endpoint.id, cursor)
    if (cursor !== undefined && before === undefined) {
      throw new Problem('bad_request', '`cursor` was not returned by this service.')
    }
    const rows = await pageOfDeliveries(ctx.db, endpoint.id, {
      limit: limit + 1,
      before,
      status: status === '' ? undefined : status,
    })
    const shown = rows.slice(0, limit)
    const page: WebhookDeliveries = {
      data: shown.map((row) => deliveryViewOf(row, endpoint)),
      next_cursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
    await sendView(ctx, res, page)
  }
}

/** `POST /v1/webhooks/{id}/test`: sends a test message. */
export function testWebhook(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await sendOnce(ctx, req, res, async (tx, endpoint) => {
      const body = messageBody(WEBHOOK_TEST, new Date(), webhookViewOf(endpoint))
      const made = await createTestDelivery(tx, endpoint.id, { body, kept: TESTS_KEPT })
      return deliveryViewOf(made, endpoint)
    })
  }
}

/** `POST /v1/webhooks/{id}/deliveries/{delivery}/replay`: sends a message again, unchanged. */
export function replayDelivery(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await sendOnce(ctx, req, res, async (tx, endpoint) => {
      const { delivery: id } = req.params
      const isId = typeof id === 'string' && DELIVERY_ID.test(id)
      const told = isId ? await replayOne(tx, endpoint.id, id) : undefined
      if (told === undefined) {
        throw new Problem('not_found', 'There is no delivery with this id.')
      }
      return deliveryViewOf(told, endpoint)
    })
  }
}

/**
 * `POST /v1/webhooks/{id}/replay`: sends all messages since a time again, once those of the replay
 * before have been sent.
 */
export function replayWebhook(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    const wanted = await readOnceBody(ctx, req, res, webhookReplay)
    const { most, maxDue } = WEBHOOK_REPLAY
    const send: Sending = async (tx, { id }) => {
      if ((await countDue(tx, id, maxDue)) === maxDue) {
        const message = `${maxDue} messages or more wait to be sent to this endpoint; replay others when they have been.`
        throw new Problem('conflict', message)
      }
      const replayed = await replaySince(tx, id, new Date(wanted.since), most)
      return { replayed } satisfies WebhookReplayed
    }
    await sendOnce(ctx, req, res, send, wanted)
  }
}

/** Creates messages for an endpoint, and shows them. */
type Sending = (tx: Tx, endpoint: WebhookEndpoint) => Promise<object>

/** Creates messages for one endpoint, once for each idempotency key. */
async function sendOnce(
  ctx: Context,
  req: Request,
  res: Response,
  send: Sending,
  body: object = {},
): Promise<void> {
  const { accountId } = callerOf(res)
  const id = webhookIdOf(req)
  await respondOnce<object>(ctx, req, res, {
    sameAs: [body],
    work: async (show) =>
      await inTransaction(ctx.db, async (tx) => {
        const endpoint = await findWebhook(tx, accountId, id)
        if (endpoint === undefined) throw noSuchWebhook()
        if (endpoint.disabled_at !== null) {
          const message = 'The endpoint is switched off; change it to `"enabled": true` first.'
          throw new Problem('conflict', message)
        }
        await show(tx, await send(tx, endpoint))
      }),
    respond: (view) => jsonResponse(202, view),
  })
}
