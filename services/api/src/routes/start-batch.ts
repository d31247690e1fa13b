import { Problem } from '@plumbline/contract/problem'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import { getBatch } from '@plumbline/pipeline/read'
import { startBatch as start } from '@plumbline/pipeline/start'
import type { Request } from 'express'
import { admit, insufficientCredits } from '../access.ts'
import type { Context } from '../context.ts'
import { requestContextOf } from '../request-context.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'
import { changeBatch } from './change-batch.ts'

/** `POST /v1/batches/{id}/start`: holds the credits of a ready list and runs it (decision 32). */
export function startBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: true, mayBeFree: true })
    const { lacksCredits, isRepeat } = requestContextOf(res)
    const mustBeFree = lacksCredits && !isRepeat
    if (mustBeFree && !(await costsNothing(ctx, owner, req))) throw insufficientCredits()
    await changeBatch(ctx, req, res, start, mustBeFree)
  }
}

/** Whether a batch waits of which no row is billable: an empty account may start it (decision 9). */
async function costsNothing(ctx: Context, owner: BatchOwner, req: Request): Promise<boolean> {
  try {
    const { status, credits } = await getBatch(ctx.pipeline, owner, batchIdOf(req))
    return status === 'ready' && credits.estimate === 0
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return false
    throw error
  }
}
