import type { BatchReader } from '@plumbline/pipeline/read'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { jsonResponse, sendResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** `GET /v1/batches/{id}`: one batch (decision 33). */
export function readBatch(ctx: Context, read: BatchReader): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const view = await read(owner, batchIdOf(req))
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, view))
  }
}
