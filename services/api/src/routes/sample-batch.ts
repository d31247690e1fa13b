import type { BatchSample } from '@plumbline/contract/batch-sample'
import { readSample as read, sampleBatch as sample } from '@plumbline/pipeline/sample'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import type { Downloads } from './read-results.ts'
import { respondOnce } from './respond-once.ts'
import { showOfBatch } from './show-of-batch.ts'

/**
 * `POST /v1/batches/{id}/sample`: checks a few rows of a ready batch; starting it does not check
 * them again. It decodes as many chunks as it draws rows, so it counts as a download meanwhile.
 */
export function sampleBatch(ctx: Context, { limit, turn }: Downloads): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: true })
    const id = batchIdOf(req)
    await respondOnce<BatchSample>(ctx, req, res, {
      work: async (show) => {
        const owner = callerOf(res)
        using _ = limit.acquire(owner.accountId)
        return await sample(ctx.pipeline, owner, id, show, turn)
      },
      respond: (view) => jsonResponse(202, view, `/v1/batches/${id}/sample`),
      batchOf: () => id,
    })
  }
}

/** `GET /v1/batches/{id}/sample`: the sample of a batch, with its results so far. */
export function readSample(ctx: Context): Handler {
  return showOfBatch(ctx, async (owner, id) => await read(ctx.pipeline, owner, id))
}
