import { batchChange } from '@plumbline/contract/batch-change'
import { readBody } from '@plumbline/contract/read-body'
import { changeBatch } from '@plumbline/pipeline/change'
import { admit } from '../access.ts'
import { readAdmittedJson } from '../admitted-json.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { sendView } from './send-view.ts'

/**
 * `PATCH /v1/batches/{id}`: changes how a batch is read and what it checks, before it starts; free.
 */
export function patchBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const body = await readAdmittedJson(ctx.access, req, res, ctx.settings)
    const view = await changeBatch(ctx.pipeline, owner, id, readBody(batchChange, body))
    await sendView(ctx, res, view)
  }
}
