import { readKnown as read } from '@plumbline/pipeline/read-known'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { showOfBatch } from './show-of-batch.ts'

/**
 * `GET /v1/batches/{id}/known`: accepted verdicts of another service compared with our outcomes.
 */
export function readKnown(ctx: Context): Handler {
  return showOfBatch(ctx, async (owner, id) => await read(ctx.pipeline, owner, id))
}
