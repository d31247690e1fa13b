import { splitTask, type ClaimedTask } from '@plumbline/db/batches/tasks'
import type { Pipeline } from './pipeline.ts'
import { saveOutcomes } from './save-outcomes.ts'
import type { TaskWork } from './task-work.ts'

/** Failed runs of a task after which it is split. */
export const MAX_ATTEMPTS = 3

/**
 * Splits a task that keeps failing into two tasks of half its subjects, so that the subject that
 * makes it fail is found; a single subject becomes an error, uncharged.
 */
export async function bisectTask(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
): Promise<void> {
  const open = [...work.stored.keys()].filter((at) => work.stored[at] !== true)
  const [first, ...others] = open
  if (first === undefined) return
  pipeline.log.warn({ task: task.taskId, size: open.length }, 'task keeps failing')
  if (others.length === 0) {
    work.answers[first] = { kind: 'failed' }
    await saveOutcomes(pipeline, task, work, 'drop')
    return
  }
  const indexes = open.map((at) => work.indexes[at] ?? -1)
  const states = work.states === null ? null : open.map((at) => work.states?.[at] ?? null)
  const middle = open.length >> 1
  const half = (from: number, to: number): Parameters<typeof splitTask>[2][number] => ({
    indexes: indexes.slice(from, to),
    states: states?.slice(from, to) ?? null,
    // A half is split again after one failure; a single subject has all attempts.
    attempts: to - from === 1 ? 0 : MAX_ATTEMPTS - 1,
  })
  await splitTask(pipeline.db, task, [half(0, middle), half(middle, open.length)])
}
