import { deleteBatch as erase } from '@plumbline/pipeline/erase'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { sendEmpty } from '../response.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'

/** `DELETE /v1/batches/{id}`: erases a batch with its file and results. */
export function deleteBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    await erase(ctx.pipeline, owner, batchIdOf(req))
    await showBalance(ctx.access, res)
    sendEmpty(res)
  }
}
