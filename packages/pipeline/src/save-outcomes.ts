import type { Json } from '@plumbline/contract/outcome'
import { SILENCE } from '@plumbline/db/batches/merge-waiting'
import {
  storeTaskOutcomes,
  type TaskOutcomes,
  type WaitingSubjects,
} from '@plumbline/db/batches/settle'
import {
  countGroupAnswers,
  storePace,
  readPace,
  type GroupAnswers,
} from '@plumbline/db/batches/pace'
import { closeFinishedBatch } from '@plumbline/db/batches/stages'
import type { ClaimedTask } from '@plumbline/db/batches/tasks'
import type { Tx } from '@plumbline/db/database'
import { FAILOVER_MS, retryStatement } from '@plumbline/db/retry'
import type { Answer } from '@plumbline/ports/engine'
import { blankLateOutcomes } from './blank-late.ts'
import { packOutcomes, type StoredOutcome } from './codec.ts'
import { groupNameOf } from './keyed-stores.ts'
import { countAnsweredRows } from './answered-rows.ts'
import type { Pipeline } from './pipeline.ts'
import { settleChunk } from './settle.ts'
import type { Failed, TaskWork } from './task-work.ts'
import { LEAST_SPACING_MS, withSample } from './time-left.ts'

/**
 * Stores the outcomes that are not stored yet. `stay` keeps the task for the other subjects, `end`
 * closes it and stores subjects that must wait by group, `drop` closes it and drops the others. If
 * that completes the chunk, it is settled in the same transaction.
 */
export async function saveOutcomes(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
  then: 'stay' | 'end' | 'drop',
): Promise<void> {
  const held: number[] = []
  const fresh: number[] = []
  const open: number[] = []
  const later: number[] = []
  for (const [at, answer] of work.answers.entries()) {
    if (work.stored[at] === true) continue
    held.push(work.indexes[at] ?? -1)
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
  const packed = await packOutcomes(outcomes, task.explain)
  const facts = { check: task.check, outcomes: fresh.length, later: later.length }
  const storing = { name: 'store outcomes', kind: 'internal', facts } as const
  const stored = {
    task,
    held,
    indexes: everything ? null : fresh.map((at) => work.indexes[at] ?? -1),
    count: fresh.length,
    outcomes: packed,
    waiting: groupWaiting(pipeline, work, later),
    showsReplies: then !== 'drop' && work.answers.some(showsReply),
    stays:
      then !== 'stay' || open.length === 0
        ? null
        : {
            indexes: open.map((at) => work.indexes[at] ?? -1),
            states: work.states === null ? null : open.map((at) => work.states?.[at] ?? null),
          },
  }
  const paceAgeMs = await pipeline.queue.tracer.span(storing, () =>
    storeOutcomes(pipeline, task, work, outcomes, stored),
  )
  for (const at of fresh) work.stored[at] = true
  await notePace(pipeline, task, answeredByGroup(pipeline, work, fresh), paceAgeMs)
}

/** Whether a subject was answered, or waits for others than our own resolver or network. */
function showsReply(answer: Answer | Failed | undefined): boolean {
  if (answer?.kind === 'later') return !answer.group.startsWith(SILENCE)
  return answer?.kind === 'outcome'
}

/** Maximum number of groups that one save counts: those with the most subjects. */
const GROUPS_A_SAVE = 16

/** How many of these subjects were answered under the limit of each group. */
function answeredByGroup(
  { installationKey }: Pipeline,
  { answers, groups }: TaskWork,
  fresh: readonly number[],
): readonly GroupAnswers[] {
  const counts = new Map<string, number>()
  for (const at of fresh) {
    const group = groups[at]
    if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  if (counts.size === 0) return []
  const full = new Set(answers.map((answer) => (answer?.kind === 'later' ? answer.group : '')))
  return [...counts]
    .map(([group, answered]) => ({ group, answered, isFull: full.has(group) }))
    .toSorted((a, b) => Number(b.isFull) - Number(a.isFull) || b.answered - a.answered)
    .slice(0, GROUPS_A_SAVE)
    .map(({ group, ...count }) => ({ key: groupNameOf(group, installationKey), ...count }))
}

/**
 * Counts answers by group, and regularly samples how much of a batch is open. If that is lost, only
 * the time estimate is less accurate.
 */
async function notePace(
  { db, log }: Pipeline,
  { batchId, check }: ClaimedTask,
  answered: readonly GroupAnswers[],
  paceAgeMs: number,
): Promise<void> {
  try {
    if (answered.length > 0) await countGroupAnswers(db, { batchId, check }, answered)
    if (paceAgeMs < LEAST_SPACING_MS) return
    const pace = await readPace(db, batchId, LEAST_SPACING_MS)
    if (pace === undefined) return
    const samples = withSample(pace.samples, pace.now, pace.startedMs)
    if (samples !== null) await storePace(db, batchId, samples)
  } catch (error) {
    log.info({ err: error, batch: batchId }, 'the pace of a batch could not be recorded')
  }
}

/**
 * Stores outcomes and the new state of the task; drops them if another worker has it.
 *
 * @returns milliseconds since the last sample of the batch's pace; 0 if nothing was stored
 */
async function storeOutcomes(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: TaskWork,
  outcomes: readonly StoredOutcome[],
  brought: TaskOutcomes,
): Promise<number> {
  const { check } = task
  const scorer = await pipeline.scorers.of(task.weights)
  /** What an attempt stored if its commit, of which nothing was heard, took effect. */
  let unheard: Stored | undefined
  const store = async (tx: Tx): Promise<Stored> => {
    const stored = await storeTaskOutcomes(tx, brought)
    if (stored === undefined) {
      if (unheard !== undefined) return unheard
      pipeline.log.info({ task: task.taskId }, 'lease lost; outcomes dropped')
      return { charged: null, paceAgeMs: 0 }
    }
    const { remaining, hasErased, prepaid, paceAgeMs } = stored
    const chunk = { ...task, no: task.chunkNo, scorer, subjects: work.all, prepaid }
    if (hasErased) await blankLateOutcomes(tx, chunk)
    if (remaining > 0) {
      await countAnsweredRows(tx, chunk, { check, outcomes })
      return { charged: null, paceAgeMs }
    }
    const isOnly = Object.keys(work.all).length === 1 && brought.indexes === null
    const onlyPart = isOnly ? { check, indexes: null, outcomes } : undefined
    const charged = await settleChunk(tx, { ...chunk, onlyPart })
    unheard = { charged, paceAgeMs }
    return unheard
  }
  const { charged, paceAgeMs } = await retryStatement(
    () => pipeline.db.kysely.transaction().execute(store),
    // These outcomes may have cost money: the statement is retried until another server has taken
    // over.
    { forMs: FAILOVER_MS },
  )
  if (charged !== null) {
    pipeline.countCredits?.charged(task.product, charged)
    await retryStatement(() => closeFinishedBatch(pipeline.db, task.batchId))
  }
  return paceAgeMs
}

interface Stored {
  /** Charge of the chunk if it was settled; null if it is still open. */
  readonly charged: number | null
  readonly paceAgeMs: number
}

/**
 * Subjects whose own delays differ by at most this factor wait together, as long as the longest.
 */
const ALIKE = 1.25

interface Waits {
  readonly group: string | null
  afterMs: number
  readonly holdsGroup: boolean
  readonly reason: string
  readonly indexes: number[]
  readonly states: (Json | null)[]
}

/**
 * Waiting subjects, one entry for each group; a group waits as long as its longest subject.
 * Subjects that wait for a time of their own have no group: the chunk is dispatched again for all
 * of about the same time.
 */
function groupWaiting(
  { installationKey }: Pipeline,
  work: TaskWork,
  later: readonly number[],
): readonly WaitingSubjects[] {
  const groups = new Map<string, Waits>()
  for (const at of later) {
    const answer = work.answers[at]
    if (answer?.kind !== 'later') continue
    const isOwn = answer.isOwnWait === true
    const step = Math.ceil(Math.log(Math.max(1, answer.afterMs)) / Math.log(ALIKE))
    const key = isOwn ? `own ${answer.reason} ${step}` : `of ${answer.group}`
    const group = groups.get(key) ?? {
      group: isOwn ? null : groupNameOf(answer.group, installationKey),
      afterMs: 0,
      holdsGroup: !isOwn,
      reason: answer.reason,
      indexes: [],
      states: [],
    }
    group.afterMs = Math.max(group.afterMs, answer.afterMs)
    group.indexes.push(work.indexes[at] ?? -1)
    group.states.push(answer.state ?? null)
    groups.set(key, group)
  }
  return [...groups.values()]
}
