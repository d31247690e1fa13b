import { cancelBatch as cancel } from '@plumbline/pipeline/cancel'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import type { Handler } from './handler.ts'
import { changeBatch } from './change-batch.ts'

/** `POST /v1/batches/{id}/cancel`: nothing new is begun, what is known is charged, the rest released (decision 13). */
export function cancelBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await changeBatch(ctx, req, res, cancel)
  }
}
