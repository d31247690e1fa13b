import { startBatch as start } from '@plumbline/pipeline/start'
import { admit } from '../admit.ts'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { moveBatch } from './move-batch.ts'

/** `POST /v1/batches/{id}/start`: holds the credits of a ready list and runs it (decision 32). */
export function startBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.gate, req, res, { spends: true })
    await moveBatch(ctx, req, res, start)
  }
}
