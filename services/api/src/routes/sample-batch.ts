import type { BatchSample } from '@plumbline/contract/batch-sample'
import { readSample as read, sampleBatch as sample } from '@plumbline/pipeline/sample'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'
import { respondOnce } from './respond-once.ts'
import { showOfBatch } from './show-of-batch.ts'

/**
 * `POST /v1/batches/{id}/sample`: checks a few rows of a ready batch; starting it does not check
 * them again.
 */
export function sampleBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: true })
    const id = batchIdOf(req)
    await respondOnce<BatchSample>(ctx, req, res, {
      work: (show) => sample(ctx.pipeline, callerOf(res), id, show),
      respond: (view) => jsonResponse(202, view, `/v1/batches/${id}/sample`),
      batchOf: () => id,
    })
  }
}

/** `GET /v1/batches/{id}/sample`: the sample of a batch, with its results so far. */
export function readSample(ctx: Context): Handler {
  return showOfBatch(ctx, async (owner, id) => await read(ctx.pipeline, owner, id))
}
