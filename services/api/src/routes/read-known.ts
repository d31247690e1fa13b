import { readKnown as read } from '@plumbline/pipeline/read-known'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** `GET /v1/batches/{id}/known`: how the verdicts of another service that a batch goes by compare with ours. */
export function readKnown(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const view = await read(ctx.pipeline, owner, id)
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, view))
  }
}
