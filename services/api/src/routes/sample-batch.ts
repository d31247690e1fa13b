import { readSample as read, sampleBatch as sample } from '@plumbline/pipeline/sample'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { withIdempotency } from '../idempotency.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { refuseQuery } from '../query.ts'
import { callerOf } from '../request-context.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** `POST /v1/batches/{id}/sample`: checks a few rows of a ready batch, which its start does not ask again. */
export function sampleBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: true })
    refuseKeyShape(req)
    const id = batchIdOf(req)
    refuseQuery(req)
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => [],
      async ({ keep }) => {
        let shown: JsonResponse | undefined
        await sample(ctx.pipeline, callerOf(res), id, async (tx, view) => {
          shown = jsonResponse(202, view, `/v1/batches/${id}/sample`)
          await keep?.(tx, shown, id)
        })
        if (shown === undefined) throw new Error('a sample was not shown')
        return shown
      },
    )
    await showBalance(ctx.access, res)
    sendResponse(res, response)
  }
}

/** `GET /v1/batches/{id}/sample`: the sample of a batch, as far as it is. */
export function readSample(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const view = await read(ctx.pipeline, owner, id)
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, view))
  }
}
