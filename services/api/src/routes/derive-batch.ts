import { recheckBody, rescoreBody } from '@plumbline/contract/batch-origin'
import type { BatchView } from '@plumbline/contract/batch-view'
import { recheckBatch } from '@plumbline/pipeline/recheck'
import { rescoreBatch } from '@plumbline/pipeline/rescore'
import type { InTransaction } from '@plumbline/pipeline/batch-access'
import type { Request, Response } from 'express'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { createDryRunGuard } from '../dry-run.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { readOnceBody, respondOnce } from './respond-once.ts'
import { watchOwnBatch } from './watch-own-batch.ts'

/**
 * `POST /v1/batches/{id}/recheck`: a new batch of the rows of this one that are to be checked
 * again; with `start` false a dry run, which is free as that of an upload is (decision 9).
 */
export function recheck(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: true, mayBeFree: true })
    const guard = createDryRunGuard(requestContextOf(res))
    try {
      const judge = (given: unknown): void => guard.begin(startIn(given))
      const body = await readOnceBody(ctx, req, res, recheckBody, { judge })
      const chargeUnknown = ctx.settings.CHARGE_UNKNOWN
      await derive(
        ctx,
        req,
        res,
        body,
        (id, inTransaction) =>
          recheckBatch(ctx.pipeline, callerOf(res), id, { ...body, chargeUnknown }, inTransaction),
        body.start === false,
      )
    } catch (error) {
      throw guard.refusalOf(error)
    }
  }
}

/** The field `start` of a body whatever else that holds. */
function startIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'start' in body ? body.start : undefined
}

/**
 * `POST /v1/batches/{id}/rescore`: a new batch of the outcomes of this one, scored by other
 * weights; free.
 */
export function rescore(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    const body = await readOnceBody(ctx, req, res, rescoreBody)
    await derive(
      ctx,
      req,
      res,
      body,
      (id, inTransaction) => rescoreBatch(ctx.pipeline, callerOf(res), id, body, inTransaction),
      true,
    )
  }
}

async function derive(
  ctx: Context,
  req: Request,
  res: Response,
  body: object,
  make: (id: string, inTransaction: InTransaction) => Promise<BatchView>,
  isFree = false,
): Promise<void> {
  const id = batchIdOf(req)
  await respondOnce<BatchView>(ctx, req, res, {
    sameAs: body,
    work: (show) =>
      make(id, async (tx, view) => {
        await show(tx, view)
        await watchOwnBatch(ctx, res, tx, view.id)
      }),
    respond: (view) => jsonResponse(202, view, `/v1/batches/${view.id}`),
    batchOf: (view) => view.id,
    isFree,
  })
}
