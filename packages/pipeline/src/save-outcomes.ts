import type { Json } from '@plumbline/contract/outcome'
import {
  storeTaskOutcomes,
  type TaskOutcomes,
  type WaitingSubjects,
} from '@plumbline/db/batches/settle'
import type { ClaimedTask } from '@plumbline/db/batches/tasks'
import type { Tx } from '@plumbline/db/database'
import { retryStatement } from '@plumbline/db/retry'
import { packOutcomes, type StoredOutcome } from './codec.ts'
import { groupNameOf } from './keyed-stores.ts'
import { countKnownRows } from './known-rows.ts'
import type { Pipeline } from './pipeline.ts'
import { settleChunk } from './settle.ts'
import type { TaskWork } from './task-work.ts'

/**
 * Stores the outcomes that are not stored yet. `stay` keeps the task for the other subjects, `end` closes
 * it and stores those that must wait by group, `drop` closes it and drops the others. Where that completes
 * the chunk, it is settled in the same transaction.
 */
export async function saveOutcomes(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
  then: 'stay' | 'end' | 'drop',
): Promise<void> {
  const fresh: number[] = []
  const open: number[] = []
  const later: number[] = []
  for (const [at, answer] of work.answers.entries()) {
    if (work.stored[at] === true) continue
    if (answer?.kind === 'outcome' || answer?.kind === 'failed') fresh.push(at)
    else if (answer?.kind === 'later' && then === 'end') later.push(at)
    else open.push(at)
  }
  if (then === 'end' && open.length > 0) {
    throw new Error(`the ${task.check} engine left ${open.length} subjects unanswered`)
  }
  if (then === 'stay' && fresh.length === 0) return
  const outcomes = fresh.map((at): StoredOutcome => {
    const answer = work.answers[at]
    return answer?.kind === 'outcome' ? answer : null
  })
  const everything = work.whole && fresh.length === work.subjects.length
  await storeOutcomes(pipeline, task, work, outcomes, {
    taskId: task.taskId,
    lease: task.lease,
    size: fresh.length + open.length + later.length,
    indexes: everything ? null : fresh.map((at) => work.indexes[at] ?? -1),
    count: fresh.length,
    outcomes: await packOutcomes(outcomes, task.explain),
    waiting: groupWaiting(pipeline, work, later),
    stays:
      then !== 'stay' || open.length === 0
        ? null
        : {
            indexes: open.map((at) => work.indexes[at] ?? -1),
            states: work.states === null ? null : open.map((at) => work.states?.[at] ?? null),
          },
  })
  for (const at of fresh) work.stored[at] = true
}

/** Stores outcomes with what becomes of the task; drops them where another worker has it. */
export async function storeOutcomes(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
  outcomes: readonly StoredOutcome[],
  brought: TaskOutcomes,
): Promise<void> {
  const { check } = task
  const scorer = await pipeline.scorers.of(task.weights)
  const store = async (tx: Tx): Promise<void> => {
    const remaining = await storeTaskOutcomes(tx, brought)
    if (remaining === undefined) {
      pipeline.log.info({ task: task.taskId }, 'lease lost; outcomes dropped')
      return
    }
    if (remaining > 0) {
      await countKnownRows(tx, { batchId: task.batchId, no: task.chunkNo }, work.all)
      return
    }
    const onlyCheck = Object.keys(work.all).length === 1
    await settleChunk(tx, {
      batchId: task.batchId,
      no: task.chunkNo,
      accountId: task.accountId,
      mode: task.mode,
      product: task.product,
      chargeUnknown: task.chargeUnknown,
      scorer,
      subjects: work.all,
      onlyPart:
        onlyCheck && brought.indexes === null ? { check, indexes: null, outcomes } : undefined,
    })
  }
  await retryStatement(() => pipeline.db.kysely.transaction().execute(store))
}

/** Subjects that wait, one entry for each group; a group waits as long as its longest subject. */
function groupWaiting(
  { installationKey }: Pipeline,
  work: TaskWork,
  later: readonly number[],
): readonly WaitingSubjects[] {
  const groups = new Map<
    string,
    {
      afterMs: number
      holdsGroup: boolean
      reason: string
      indexes: number[]
      states: (Json | null)[]
    }
  >()
  for (const at of later) {
    const answer = work.answers[at]
    if (answer?.kind !== 'later') continue
    const group = groups.get(answer.group) ?? {
      afterMs: 0,
      holdsGroup: false,
      reason: answer.reason,
      indexes: [],
      states: [],
    }
    group.afterMs = Math.max(group.afterMs, answer.afterMs)
    group.holdsGroup ||= answer.isOwnWait !== true
    group.indexes.push(work.indexes[at] ?? -1)
    group.states.push(answer.state ?? null)
    groups.set(answer.group, group)
  }
  return [...groups].map(([group, waiting]) => ({
    group: groupNameOf(group, installationKey),
    ...waiting,
  }))
}
