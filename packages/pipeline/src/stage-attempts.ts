import { PROBLEMS } from '@plumbline/contract/problem'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StageFence } from '@plumbline/db/batches/stages'
import { failBatch } from './cancel.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Attempts before a batch fails, over more than ten minutes: its file may be what crashes the
 * worker.
 */
const MAX_ATTEMPTS = 6

const READ_FAILED =
  'The file could not be read because of a fault of the service; nothing was charged.'

/** Ends a batch as failed if all attempts at its stage have failed; returns whether it did. */
export async function failAfterAttempts(
  pipeline: Pipeline,
  stage: StageFence,
  batch: BatchRow,
): Promise<boolean> {
  if (batch.stage_attempts <= MAX_ATTEMPTS) return false
  const error = { error: PROBLEMS.internal.error, message: READ_FAILED }
  await failBatch(pipeline, stage, error)
  return true
}
