import { settledWithin } from '@plumbline/concurrency/time-out'
import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import {
  batchesToResume,
  pausedInGroups,
  pauseRunning,
  resumePaused,
  ungroupTasks,
} from '@plumbline/db/batches/pause'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import { lockBatchOf, viewIn, type InTransaction } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Pauses a running batch: no new lookup is begun for it, workers return its tasks with the outcomes
 * known by then, and its hold stays. Pausing again is no error.
 *
 * @throws Problem `not_found`; `conflict` if the batch is not running
 */
export async function pauseBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  let wasPaused = false
  const view = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    wasPaused = row.status === 'paused'
    const paused = wasPaused ? row : await pauseRunning(tx, id)
    if (paused === undefined) {
      throw new Problem('conflict', `The batch is ${row.status}; only a running batch is paused.`)
    }
    return await viewIn(tx, paused, inTransaction)
  })
  // This walks through all tasks, which pausing again must not do.
  if (!wasPaused) await settledWithin(UNGROUP_MS, ungroup(pipeline, id))
  return view
}

/** Milliseconds that a request waits for the tasks to be taken out of their groups. */
const UNGROUP_MS = 2_000

/** Never rejects: the batch is paused, and a sweep completes what is left. */
async function ungroup({ db, log }: Pipeline, id: string): Promise<void> {
  try {
    await ungroupTasks(db, id)
  } catch (err) {
    log.warn({ err, batch: id }, 'tasks of a paused batch are left in their groups for a while')
  }
}

/**
 * Resumes a paused batch. Resuming a running batch is no error.
 *
 * @throws Problem `not_found`; `conflict` if the batch is neither paused nor running
 */
export async function resumeBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    const running = row.status === 'running' ? row : await resumePaused(tx, id)
    if (running === undefined) {
      throw new Problem('conflict', `The batch is ${row.status}; only a paused batch is resumed.`)
    }
    return await viewIn(tx, running, inTransaction)
  })
}

/** Maximum number of batches that one sweep resumes, and of which it completes the pause. */
const MOST_SWEPT = 100

/**
 * Resumes batches whose pause is over.
 *
 * @returns how many
 */
export async function resumeDue({ db }: Pick<Pipeline, 'db'>): Promise<number> {
  const ids = await batchesToResume(db, MOST_SWEPT)
  for (const id of ids) await db.kysely.transaction().execute((tx) => resumePaused(tx, id))
  return ids.length
}

/**
 * Takes tasks of paused batches out of their groups where the process that paused them was
 * interrupted; a repeated request would not do it.
 *
 * @returns of how many batches
 */
export async function completePauses({ db }: Pick<Pipeline, 'db'>): Promise<number> {
  const ids = await pausedInGroups(db, MOST_SWEPT)
  for (const id of ids) await ungroupTasks(db, id)
  return ids.length
}
