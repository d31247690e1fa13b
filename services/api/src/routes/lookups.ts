import { createBatcher } from '@plumbline/concurrency/batcher'
import { LOOKUP_WAIT_SECONDS } from '@plumbline/contract/lookup'
import { MESSAGES, Problem } from '@plumbline/contract/problem'
import { checksGiven, priceCredits, type Product } from '@plumbline/contract/products'
import type { ProductRequest } from '@plumbline/contract/requests'
import { areUnfinished, type BatchOwner } from '@plumbline/db/batches/rows'
import { FAILOVER_MS, retryStatement } from '@plumbline/db/retry'
import { cancelBatch } from '@plumbline/pipeline/cancel'
import { beginLookup as begin, noSuchLookup, readLookup as read } from '@plumbline/pipeline/lookup'
import type { Request, Response } from 'express'
import { admit, refuseLate, showBalance } from '../access.ts'
import { inDoubt } from '../charge.ts'
import { createCallLimit } from '../call-limit.ts'
import type { Context } from '../context.ts'
import type { Run } from '../idempotency.ts'
import { readQuery } from '../query.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { pathIdOf } from './path-id.ts'

/** Whether the client prefers an asynchronous response. Source: RFC 7240 4.1. */
export function prefersAsync({ headers }: Request): boolean {
  const preferences = String(headers['prefer'] ?? '').split(',')
  return preferences.some(
    (one) => (one.split(';', 1)[0] ?? '').trim().toLowerCase() === 'respond-async',
  )
}

/**
 * Begins an asynchronous lookup, and responds with its URL. A lookup whose call was refused is not
 * begun, or canceled if only the reply to its commit was missing; with an idempotency key it then
 * stays, for the repeat.
 *
 * @throws Problem `unavailable` if the database is down, and the refusals of the pipeline
 */
export async function beginLookup(
  ctx: Context,
  res: Response,
  product: Product,
  request: ProductRequest,
  { keep }: Run,
): Promise<JsonResponse> {
  const { accountId, mode } = callerOf(res)
  let isRefused = false
  let begun: { readonly id: string; readonly response: JsonResponse } | undefined
  const beginning = begin(
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
      const response = jsonResponse(202, view, `/v1/lookups/${view.id}`)
      await keep?.(tx, response, view.id)
      // After the last statement before the commit: each of them may have waited until the refusal.
      if (isRefused) throw new Problem('unavailable', MESSAGES.unavailable)
      begun = { id: view.id, response }
    },
  )
  try {
    await ctx.database.orRefused(beginning, { late: () => (isRefused = true) })
  } catch (error) {
    if (begun === undefined) throw error
    if (keep !== undefined) throw inDoubt(error)
    ctx.background.add(cancelLate(ctx, { accountId, mode }, begun.id, beginning))
    throw error
  }
  if (begun === undefined) throw new Error('a lookup was begun without a response')
  if (mode === 'live')
    requestContextOf(res).creditsCharged = priceCredits(product, checksGiven(request.values))
  return begun.response
}

/** Cancels a lookup that may have been begun although its call was refused. */
async function cancelLate(
  { pipeline, onError }: Context,
  owner: BatchOwner,
  id: string,
  beginning: Promise<void>,
): Promise<void> {
  try {
    await beginning.catch(() => undefined)
    await retryStatement(() => cancelBatch(pipeline, owner, id), { forMs: FAILOVER_MS })
  } catch (error) {
    const wasNotBegun = error instanceof Problem && error.code === 'not_found'
    if (!wasNotBegun) onError(error)
  }
}

/** Milliseconds between two checks of the lookups that clients wait for. */
const POLL_MS = 250

/**
 * `GET /v1/lookups/{id}`: the state of an asynchronous lookup; with `wait`, once it has ended or
 * the time is over. Whoever waits is judged again meanwhile, as during an event stream.
 */
export function readLookup(ctx: Context): Handler {
  const { database } = ctx
  // One statement at a time for all who wait, each of whom asks again once it is answered.
  const isOpen = createBatcher(
    (ids: readonly string[]) => database.orRefused(areUnfinished(ctx.db, ids)),
    { maxItems: ctx.settings.CALLS_LIMIT, delayMs: () => POLL_MS },
  )
  // Apart from the limit of single calls: a wait costs nothing, and must not take their place.
  const waits = createCallLimit(ctx.settings)
  return async (req, res) => {
    const admitted = admit(ctx.access, req, res, { spends: false, hasOwnLimit: true })
    const owner = await database.orRefused(admitted, { isCached: true })
    const id = pathIdOf(req, 'lkp', noSuchLookup)
    const query = readQuery(req, ['wait'])
    const seconds = query.wholeNumber('wait', { fallback: 0, min: 0, max: LOOKUP_WAIT_SECONDS })
    using _ = (seconds > 0 ? waits : ctx.calls).enter(owner.accountId)
    const until = performance.now() + seconds * 1_000
    let view = await database.orRefused(read(ctx.pipeline, owner, id))
    while (view.status === 'running' && performance.now() < until) {
      if (ctx.stopping.aborted || res.destroyed) break
      const isRunning = await isOpen(id)
      const judging = refuseLate(ctx.access, req, res)
      await database.orRefused(judging, { isCached: true })
      if (isRunning) continue
      view = await database.orRefused(read(ctx.pipeline, owner, id))
    }
    await database.orRefused(showBalance(ctx.access, res))
    sendResponse(res, jsonResponse(200, view))
  }
}
