import { PROBLEMS } from '@plumbline/contract/problem'
import { lockBatch, moveBatch, readBatch } from '@plumbline/db/batches/rows'
import type { StageFence } from '@plumbline/db/batches/stages'
import type { Tx } from '@plumbline/db/database'
import type { Pipeline } from './pipeline.ts'
import { readBatchFile } from './read-batch-file.ts'
import { failAfterAttempts } from './stage-attempts.ts'
import { runStage, type LeasedStage } from './stage-lease.ts'
import { holdAndRun, shortMessage } from './start.ts'

/**
 * The intake stage: reads the file of a batch into chunks, then starts the batch or stops it at
 * `ready` with the estimate. A file that cannot be read ends the batch as `failed`, with the
 * reason.
 */
export async function runIntake(
  pipeline: Pipeline,
  job: StageFence,
  signal: AbortSignal,
): Promise<void> {
  await runStage(pipeline, job, signal, (stage) => analyze(pipeline, stage))
}

async function analyze(pipeline: Pipeline, stage: LeasedStage): Promise<void> {
  const batch = await readBatch(pipeline.db, stage.batchId)
  if (batch === undefined) return
  if (await failAfterAttempts(pipeline, stage, batch)) return
  // An earlier attempt may have read the file completely and died afterwards: its rows are stored,
  // and a cancel relies on them.
  const read = batch.read_whole ? 'read' : await readBatchFile(pipeline, stage, batch)
  if (read === 'read') await startOrStop(pipeline, stage)
}

/**
 * Decision 32: a batch that is to start automatically stops at `ready` if the credits or its own
 * limit do not suffice.
 */
async function startOrStop(pipeline: Pipeline, { batchId: id, lease }: StageFence): Promise<void> {
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, id)
    if (row === undefined || row.lease !== lease || row.status !== 'analyzing') return
    // A failover may lose the commit that stored them, and without them there is no estimate to hold.
    if (!row.read_whole)
      throw new Error(`batch ${id}: its rows are not stored; they are read again`)
    if (row.requested.rescore !== undefined) {
      // All rows have outcomes: the batch is finished like any that has run.
      await moveBatch(tx, id, 'running', { weights: row.requested.rescore.weights })
      return
    }
    if (!row.auto_start) {
      await moveBatch(tx, id, 'ready')
      return
    }
    if (row.max_credits !== null && row.credits_estimate > row.max_credits) {
      const message = `The batch needs ${row.credits_estimate} credits, more than its max_credits of ${row.max_credits}; start it if that is right.`
      await stopAtReady(tx, id, message)
      return
    }
    const started = await holdAndRun(tx, row, pipeline.scorers.current.version)
    if (started.kind === 'short') await stopAtReady(tx, id, shortMessage(started))
  })
}

async function stopAtReady(tx: Tx, id: string, message: string): Promise<void> {
  await moveBatch(tx, id, 'ready', {
    error: JSON.stringify({ error: PROBLEMS.payment_required.error, message }),
  })
}
