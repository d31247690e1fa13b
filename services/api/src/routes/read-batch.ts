import { getBatch } from '@plumbline/pipeline/read'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { jsonReply, sendReply } from '../reply.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** `GET /v1/batches/{id}`: one batch (decision 33). */
export function readBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.gate, req, res, { spends: false })
    const view = await getBatch(ctx.pipeline, owner, batchIdOf(req))
    await showBalance(ctx.gate, res)
    sendReply(res, jsonReply(200, view))
  }
}
