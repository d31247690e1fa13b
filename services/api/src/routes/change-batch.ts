import type { BatchView } from '@plumbline/contract/batch-view'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import type { Pipeline } from '@plumbline/pipeline/pipeline'
import type { Alongside } from '@plumbline/pipeline/submit'
import type { Request, Response } from 'express'
import { showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../request-context.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { withIdempotency } from '../idempotency.ts'
import { refuseQuery } from '../query.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import { batchIdOf } from './batch-id.ts'

/** A move of a batch that shows it in the transaction of the move. */
export type BatchChange = (
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  alongside: Alongside,
) => Promise<BatchView>

/**
 * Moves a batch once for each idempotency key, and answers with the batch as it then is.
 * @param isFree whether a balance of zero does not matter to the move
 */
export async function changeBatch(
  ctx: Context,
  req: Request,
  res: Response,
  move: BatchChange,
  isFree = false,
): Promise<void> {
  refuseKeyShape(req)
  const id = batchIdOf(req)
  refuseQuery(req)
  const response = await withIdempotency(
    ctx.idempotency,
    req,
    res,
    () => [],
    async ({ keep }) => {
      let shown: JsonResponse | undefined
      await move(ctx.pipeline, callerOf(res), id, async (tx, view) => {
        shown = jsonResponse(200, view)
        await keep?.(tx, shown, id)
      })
      if (shown === undefined) throw new Error('a moved batch was not shown')
      return shown
    },
    isFree,
  )
  await showBalance(ctx.access, res)
  sendResponse(res, response)
}
