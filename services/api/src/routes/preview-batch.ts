import { previewBatch as preview } from '@plumbline/pipeline/preview'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { showOfBatch } from './show-of-batch.ts'

/** Milliseconds to wait for the start of a file to be read, by which most are. */
const PATIENCE_MS = 2_500

/** `GET /v1/batches/{id}/preview`: what a batch holds and would cost, free at any balance. */
export function previewBatch(ctx: Context): Handler {
  return showOfBatch(ctx, async (owner, id, res) => {
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, ctx.stopping])
    return await preview(ctx.pipeline, owner, id, { patienceMs: PATIENCE_MS, signal })
  })
}
