import { LOOKUP_WAIT_SECONDS } from '@plumbline/contract/lookup'
import { CHECKS, priceCredits, type Product } from '@plumbline/contract/products'
import type { ProductRequest } from '@plumbline/contract/requests'
import { beginLookup as begin, noSuchLookup, readLookup as read } from '@plumbline/pipeline/lookup'
import type { Request, Response } from 'express'
import { setTimeout as wait } from 'node:timers/promises'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import type { Run } from '../idempotency.ts'
import { readQuery } from '../query.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** Whether the client prefers an asynchronous response. Source: RFC 7240 4.1. */
export function prefersAsync({ headers }: Request): boolean {
  const preferences = String(headers['prefer'] ?? '').split(',')
  return preferences.some(
    (one) => (one.split(';', 1)[0] ?? '').trim().toLowerCase() === 'respond-async',
  )
}

/** Begins an asynchronous lookup, and responds with its URL. */
export async function beginLookup(
  ctx: Context,
  res: Response,
  product: Product,
  request: ProductRequest,
  { keep }: Run,
): Promise<JsonResponse> {
  const { accountId, mode } = callerOf(res)
  let response: JsonResponse | undefined
  await begin(
    ctx.pipeline,
    {
      accountId,
      mode,
      product,
      values: request.values,
      explain: request.explain,
      chargeUnknown: ctx.settings.CHARGE_UNKNOWN,
      most: ctx.settings.LOOKUPS_LIMIT,
    },
    async (tx, view) => {
      response = jsonResponse(202, view, `/v1/lookups/${view.id}`)
      await keep?.(tx, response, view.id)
    },
  )
  if (response === undefined) throw new Error('a lookup was begun without a response')
  if (mode === 'live') requestContextOf(res).creditsCharged = priceOf(product, request)
  return response
}

function priceOf(product: Product, { values }: ProductRequest): number {
  return priceCredits(
    product,
    CHECKS.filter((check) => values[check] !== undefined),
  )
}

/** Polling interval of a lookup that a client waits for. */
const POLL_MS = 250

/**
 * `GET /v1/lookups/{id}`: the state of an asynchronous lookup; with `wait`, once it has ended or
 * the time is over.
 */
export function readLookup(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = lookupIdOf(req)
    const query = readQuery(req, ['wait'])
    const seconds = query.wholeNumber('wait', { fallback: 0, min: 0, max: LOOKUP_WAIT_SECONDS })
    using _ = ctx.calls.enter(owner.accountId)
    const until = performance.now() + seconds * 1_000
    let view = await read(ctx.pipeline, owner, id)
    while (view.status === 'running' && performance.now() < until) {
      if (ctx.stopping.aborted || res.destroyed) break
      await wait(POLL_MS)
      view = await read(ctx.pipeline, owner, id)
    }
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, view))
  }
}

function lookupIdOf(req: Request): string {
  const { id } = req.params
  if (typeof id === 'string' && /^lkp_[A-Za-z0-9]{1,60}$/.test(id)) return id
  throw noSuchLookup()
}
