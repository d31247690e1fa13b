import { Problem } from '@plumbline/contract/problem'
import { cancelBatch as cancel } from '@plumbline/pipeline/cancel'
import { pauseBatch as pause, resumeBatch as resume } from '@plumbline/pipeline/pause'
import { creditsToStart, startBatch as start } from '@plumbline/pipeline/start'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import type { Pipeline } from '@plumbline/pipeline/pipeline'
import type { InTransaction } from '@plumbline/pipeline/batch-access'
import type { Request, Response } from 'express'
import { admit, insufficientCredits } from '../access.ts'
import type { Context } from '../context.ts'
import { callerOf, requestContextOf } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { respondOnce } from './respond-once.ts'

/** `POST /v1/batches/{id}/start`: holds the credits of a ready batch and runs it (decision 32). */
export function startBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: true, mayBeFree: true })
    const { lacksCredits, isRepeat } = requestContextOf(res)
    const mustBeFree = lacksCredits && !isRepeat
    if (mustBeFree && !(await costsNothing(ctx, owner, req))) throw insufficientCredits()
    await changeBatch(ctx, req, res, start, mustBeFree)
  }
}

/**
 * Whether the waiting batch has no billable row, or a sample has paid for all of them: an account
 * without credits may start it (decision 9).
 */
async function costsNothing(ctx: Context, owner: BatchOwner, req: Request): Promise<boolean> {
  try {
    return (await creditsToStart(ctx.pipeline, owner, batchIdOf(req))) === 0
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return false
    throw error
  }
}

/**
 * `POST /v1/batches/{id}/cancel`: no new lookup is begun, known results are charged, the rest is
 * released (decision 13).
 */
export function cancelBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await changeBatch(ctx, req, res, cancel)
  }
}

/** `POST /v1/batches/{id}/pause`: no new lookup is begun for a running batch; its hold stays. */
export function pauseBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await changeBatch(ctx, req, res, pause)
  }
}

/** `POST /v1/batches/{id}/resume`: a paused batch continues. */
export function resumeBatch(ctx: Context): Handler {
  return async (req, res) => {
    await admit(ctx.access, req, res, { spends: false })
    await changeBatch(ctx, req, res, resume)
  }
}

/** Changes the state of a batch, and shows it in the transaction of the change. */
type BatchChange = (
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction: InTransaction,
) => Promise<BatchView>

/**
 * Changes a batch once for each idempotency key, and responds with its new state.
 *
 * @param isFree whether the change is allowed with a balance of zero
 */
async function changeBatch(
  ctx: Context,
  req: Request,
  res: Response,
  change: BatchChange,
  isFree = false,
): Promise<void> {
  const id = batchIdOf(req)
  await respondOnce<BatchView>(ctx, req, res, {
    work: (show) => change(ctx.pipeline, callerOf(res), id, show),
    respond: (view) => jsonResponse(200, view),
    batchOf: () => id,
    isFree,
  })
}
