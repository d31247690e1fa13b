import type { Response } from 'express'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { sendView } from './send-view.ts'

/** Reads a view of a batch for the calling account. */
type ReadOfBatch = (
  owner: Awaited<ReturnType<typeof admit>>,
  id: string,
  res: Response,
) => Promise<object>

/** A `GET` of a view of a batch, free and without a query. */
export function showOfBatch(ctx: Context, read: ReadOfBatch): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const view = await read(owner, id, res)
    await sendView(ctx, res, view)
  }
}
