import type { BatchReader } from '@plumbline/pipeline/read'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/batches/{id}`: one batch (decision 33). */
export function readBatch(ctx: Context, read: BatchReader): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const view = await read(owner, batchIdOf(req))
    await sendView(ctx, res, view)
  }
}
