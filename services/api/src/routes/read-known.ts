import { readKnown as read } from '@plumbline/pipeline/read-known'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import type { Downloads } from './read-results.ts'
import { showOfBatch } from './show-of-batch.ts'

/**
 * `GET /v1/batches/{id}/known`: accepted verdicts of another service compared with our outcomes. It
 * decodes as many chunks as there are compared rows, so it counts as a download.
 */
export function readKnown(ctx: Context, { limit, turn }: Downloads): Handler {
  return showOfBatch(ctx, async (owner, id) => {
    using _ = limit.acquire(owner.accountId)
    return await read(ctx.pipeline, owner, id, turn)
  })
}
