import { previewBatch as preview } from '@plumbline/pipeline/preview'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** How long the start of a file is waited for: most are read by then. */
const PATIENCE_MS = 2_500

/** `GET /v1/batches/{id}/preview`: what a batch holds and would cost, free at any balance. */
export function previewBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, ctx.stopping])
    const shown = await preview(ctx.pipeline, owner, id, { patienceMs: PATIENCE_MS, signal })
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, shown))
  }
}
