import type { Answer, EngineRequest } from '@plumbline/ports/engine'
import { PURCHASED_CHECKS, type Check } from '@plumbline/contract/products'
import { returnPausedTask } from '@plumbline/db/batches/pause'
import {
  claimTask,
  retryTaskLater,
  returnTask,
  type ClaimedTask,
} from '@plumbline/db/batches/tasks'
import { bisectTask, MAX_ATTEMPTS } from './bisect-task.ts'
import type { Pipeline } from './pipeline.ts'
import { saveOutcomes } from './save-outcomes.ts'
import type { TaskLeases } from './task-lease.ts'
import { hasUnsaved, unpackTaskWork, requestOf, type Failed, type TaskWork } from './task-work.ts'

/** The engine of one check, as a worker hands it to the pipeline. */
export interface CheckRunner {
  run(request: EngineRequest<Check>): Promise<readonly (Answer | Failed)[]>
}

/**
 * Runs of a single subject before it becomes an error, if its engine did not throw but every worker
 * that ran it died. More than for an engine's error, as the subject may not be the cause: with the
 * delays between them a record survives a machine that restarts for 50 leases.
 */
const MAX_ATTEMPTS_ALONE = 6

/** Delay of a task after its engine threw, in milliseconds; doubled with each attempt. */
const RETRY_MS = 200

/**
 * Runs one task: claims it, calls the engine, saves outcomes regularly, and stores the rest at the
 * end. The task that stores a chunk's last outcome settles the chunk. Does nothing if the lease is
 * lost: another worker has the task. If the batch is canceled, waits for purchases in flight,
 * stores the known outcomes and drops the other subjects; if it is paused, returns these.
 */
export async function runTask(
  pipeline: Pipeline,
  leases: TaskLeases,
  engineOf: (check: Check, mode: ClaimedTask['mode']) => CheckRunner,
  job: { taskId: number; lease: number },
  signal: AbortSignal,
): Promise<void> {
  const task = await claimTask(pipeline.db, job, pipeline.limits.leaseMs)
  if (task === undefined) {
    await returnPausedTask(pipeline.db, job)
    return
  }
  const { batchId: batch, chunkNo: chunk, check, attempts } = task
  const facts = { batch, chunk, check, attempts }
  await pipeline.queue.tracer.span({ name: `task ${check}`, kind: 'internal', facts }, () =>
    runClaimed(pipeline, leases, engineOf, task, signal),
  )
}

async function runClaimed(
  pipeline: Pipeline,
  leases: TaskLeases,
  engineOf: (check: Check, mode: ClaimedTask['mode']) => CheckRunner,
  task: ClaimedTask,
  signal: AbortSignal,
): Promise<void> {
  const work = unpackTaskWork(task)
  const buys = task.mode === 'live' && PURCHASED_CHECKS.includes(task.check)
  if (task.canceling && !(buys && wasInHand(task))) {
    await saveOutcomes(pipeline, task, work, 'drop')
    return
  }
  if (task.attempts > (work.subjects.length === 1 ? MAX_ATTEMPTS_ALONE : MAX_ATTEMPTS)) {
    await endFailing(pipeline, task, work)
    return
  }
  using lease = leases.keep(task)
  const halted = AbortSignal.any([lease.canceled, lease.paused])
  const ended = AbortSignal.any([signal, lease.lost, ...(buys ? [] : [halted])])
  const saver = startSaver(pipeline, task, work, ended)
  try {
    const engine = engineOf(task.check, task.mode)
    const request = requestOf(task, work, { signal: ended, drain: halted })
    const answers = request.subjects.length === 0 ? [] : await engine.run(request)
    // The outcomes of an aborted run are discarded: the task is run again.
    if (!ended.aborted) for (const [at, answer] of answers.entries()) noteAnswer(work, at, answer)
  } catch (error) {
    pipeline.log.error({ err: error, task: task.taskId, check: task.check }, 'engine failed')
    await saver.stop()
    await saveOutcomes(pipeline, task, work, 'stay')
    if (task.attempts >= MAX_ATTEMPTS) await endFailing(pipeline, task, work)
    else await retryTaskLater(pipeline.db, task, RETRY_MS * 2 ** (task.attempts - 1))
    return
  }
  await saver.stop()
  if (lease.lost.aborted) return
  if (lease.canceled.aborted && !(buys && signal.aborted)) {
    await saveOutcomes(pipeline, task, work, 'drop')
  } else if (ended.aborted || lease.paused.aborted) {
    // Outcomes known by then are stored; the rest is dispatched again, for a paused batch when it
    // is resumed.
    await returnRest(pipeline, task, work)
  } else {
    await saveOutcomes(pipeline, task, work, 'end')
  }
}

/** @param index index of the subject in the request */
function noteAnswer(work: TaskWork, index: number, answer: Answer | Failed): void {
  const at = work.asked[index]
  if (at !== undefined) work.answers[at] ??= answer
}

/**
 * Whether an engine may have received the task before this claim: each lease and each claim counts
 * one.
 */
function wasInHand(task: ClaimedTask): boolean {
  return task.lease > 2 || task.indexes !== null
}

/** Saves outcomes regularly, so that few lookups are repeated after a kill. */
function startSaver(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
  ended: AbortSignal,
): { stop(): Promise<void> } {
  let saving: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    if (ended.aborted || !hasUnsaved(work)) return
    saving = saving
      .then(() => saveOutcomes(pipeline, task, work, 'stay'))
      .catch((error: unknown) => {
        pipeline.log.warn(
          { err: error, task: task.taskId },
          'outcomes could not be saved; it is tried again',
        )
      })
  }, pipeline.limits.saveMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await saving
    },
  }
}

/** Stores the known outcomes and returns the task, its attempt not counted. */
async function returnRest(pipeline: Pipeline, task: ClaimedTask, work: TaskWork): Promise<void> {
  if (hasUnsaved(work)) await saveOutcomes(pipeline, task, work, 'stay')
  await returnTask(pipeline.db, task)
}

/** Handles a task that keeps failing. */
async function endFailing(pipeline: Pipeline, task: ClaimedTask, work: TaskWork): Promise<void> {
  if (task.canceling) await saveOutcomes(pipeline, task, work, 'drop')
  else await bisectTask(pipeline, task, work)
}
