import { BlockList, isIP } from 'node:net'
import { Problem } from '@plumbline/contract/problem'
import { readBody } from '@plumbline/contract/read-body'
import {
  webhookChange,
  webhookRequest,
  type WebhookList,
  type WebhookWithSecret,
} from '@plumbline/contract/webhook'
import { WEBHOOK_ROTATION_HOURS } from '@plumbline/contract/webhook-limits'
import { inTransaction } from '@plumbline/db/database'
import {
  changeWebhook as change,
  createWebhook as create,
  deleteWebhook as remove,
  findWebhook,
  listWebhooks as endpointsOf,
  newWebhookId,
  rotateWebhookSecret,
  type WebhookEndpoint,
} from '@plumbline/db/webhooks/endpoints'
import { encryptSecret } from '@plumbline/webhooks/secret-box'
import { newSecret } from '@plumbline/webhooks/signature'
import { webhookViewOf } from '@plumbline/webhooks/view'
import type { Request } from 'express'
import { admit, showBalance } from '../access.ts'
import { readAdmittedJson } from '../admitted-json.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendEmpty } from '../response.ts'
import type { Handler } from './handler.ts'
import { pathIdOf } from './path-id.ts'
import { readOnceBody, respondOnce } from './respond-once.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/webhooks`: the endpoints of the account, oldest first. */
export function listWebhooks(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const list: WebhookList = { data: (await endpointsOf(ctx.db, accountId)).map(webhookViewOf) }
    await sendView(ctx, res, list)
  }
}

/** `POST /v1/webhooks`: adds an endpoint; its secret is shown in this response only. */
export function createWebhook(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const wanted = await readOnceBody(ctx, req, res, webhookRequest)
    refuseUnreachable(ctx, wanted.url)
    const id = newWebhookId()
    const secret = newSecret()
    await respondOnce<WebhookEndpoint>(ctx, req, res, {
      sameAs: wanted,
      work: async (show) =>
        await inTransaction(ctx.db, async (tx) => {
          const most = ctx.settings.WEBHOOKS_LIMIT
          const hidden = encryptSecret(ctx.pipeline.installationKey, id, secret)
          const made = await create(tx, { id, accountId, ...wanted, secret: hidden, most })
          if (made === undefined) {
            const message = `An account has at most ${most} endpoints; delete one first.`
            throw new Problem('conflict', message)
          }
          await show(tx, made)
        }),
      respond: (made) => jsonResponse(201, withSecret(made, secret), `/v1/webhooks/${id}`),
    })
  }
}

/** `GET /v1/webhooks/{id}`. */
export function readWebhook(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const found = await findWebhook(ctx.db, accountId, webhookIdOf(req))
    if (found === undefined) throw noSuchWebhook()
    await sendView(ctx, res, webhookViewOf(found))
  }
}

/** `PATCH /v1/webhooks/{id}`: changes an endpoint; waiting messages go to its new address. */
export function changeWebhook(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const id = webhookIdOf(req)
    refuseQuery(req)
    const wanted = readBody(
      webhookChange,
      await readAdmittedJson(ctx.access, req, res, ctx.settings),
    )
    if (wanted.url !== undefined) refuseUnreachable(ctx, wanted.url)
    const changed = await change(ctx.db, { accountId, id }, wanted)
    if (changed === undefined) throw noSuchWebhook()
    await sendView(ctx, res, webhookViewOf(changed))
  }
}

/** `DELETE /v1/webhooks/{id}`: removes an endpoint and its deliveries. */
export function deleteWebhook(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    if (!(await remove(ctx.db, { accountId, id: webhookIdOf(req) }))) throw noSuchWebhook()
    await showBalance(ctx.access, res)
    sendEmpty(res)
  }
}

/**
 * `POST /v1/webhooks/{id}/rotate`: creates a new secret; for a day messages are signed with the old
 * one, too. Two former ones may sign at once; a third is refused, so that none ends before its time.
 */
export function rotateWebhook(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const id = webhookIdOf(req)
    const secret = newSecret()
    await respondOnce<WebhookEndpoint>(ctx, req, res, {
      work: async (show) =>
        await inTransaction(ctx.db, async (tx) => {
          const hidden = encryptSecret(ctx.pipeline.installationKey, id, secret)
          const times = { secret: hidden, oldHours: WEBHOOK_ROTATION_HOURS }
          const changed = await rotateWebhookSecret(tx, { accountId, id }, times)
          if (changed === undefined) throw notRotated(await findWebhook(tx, accountId, id))
          await show(tx, changed)
        }),
      respond: (changed) => jsonResponse(200, withSecret(changed, secret)),
    })
  }
}

/** The refusal of a new secret for an endpoint that does not exist, or has two former ones. */
function notRotated(endpoint: WebhookEndpoint | undefined): Problem {
  if (endpoint === undefined) return noSuchWebhook()
  const until = endpoint.older_secret_until?.getTime() ?? 0
  return new Problem(
    'conflict',
    `The secret was replaced twice in ${WEBHOOK_ROTATION_HOURS} hours, and both former ones still sign; replace it again when the older one has ended.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((until - Date.now()) / 1_000)) },
  )
}

function withSecret(endpoint: WebhookEndpoint, secret: string): WebhookWithSecret {
  const { id, ...rest } = webhookViewOf(endpoint)
  return { id, secret, ...rest }
}

/** The id of an endpoint in a path. @throws Problem `not_found` for text that is none */
export function webhookIdOf(req: Request): string {
  return pathIdOf(req, 'whk', noSuchWebhook)
}

/** The refusal of an endpoint id that does not belong to the account. */
export function noSuchWebhook(): Problem {
  return new Problem('not_found', 'There is no endpoint with this id.')
}

/**
 * Refuses http without TLS except to what the operator allows: an address of the allow list, or a
 * name, whose addresses are checked when a message is sent.
 */
function refuseUnreachable({ settings }: Context, text: string): void {
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return
  const host = hostname.replace(/^\[|\]$/g, '')
  const isAllowed =
    isIP(host) === 0 ? settings.EGRESS_ALLOW.length > 0 : holds(settings.EGRESS_ALLOW, host)
  if (isAllowed) return
  throw new Problem(
    'bad_request',
    '`url` must begin with https://; http goes only to addresses that the operator has allowed.',
  )
}

function holds(blocks: readonly string[], address: string): boolean {
  const list = new BlockList()
  for (const block of blocks) {
    const [network = '', bits] = block.split('/')
    const family = familyOf(network)
    if (family !== null)
      list.addSubnet(network, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return list.check(address, familyOf(address) ?? 'ipv4')
}

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address)
  return version === 0 ? null : version === 6 ? 'ipv6' : 'ipv4'
}
