import { previewBatch as preview } from '@plumbline/pipeline/preview'
import { clientGone } from '../client-gone.ts'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { showOfBatch } from './show-of-batch.ts'

/** Milliseconds to wait until the start of a file is read, also while workers are busy. */
const PATIENCE_MS = 10_000

/**
 * `GET /v1/batches/{id}/preview`: the content of a batch, and its cost if it is started; free at
 * any balance.
 */
export function previewBatch(ctx: Context): Handler {
  return showOfBatch(ctx, async (owner, id, res) => {
    const signal = AbortSignal.any([clientGone(res).signal, ctx.stopping])
    return await preview(ctx.pipeline, owner, id, { patienceMs: PATIENCE_MS, signal })
  })
}
