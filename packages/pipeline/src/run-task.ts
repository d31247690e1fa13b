import type { Answer, Json } from '@plumbline/contract/outcome'
import type { EngineRequest } from '@plumbline/ports/engine'
import { PURCHASED_CHECKS, type Check } from '@plumbline/contract/products'
import { storeArrival, type Arrival, type WaitingSubjects } from '@plumbline/db/batches/settle'
import {
  claimTask,
  restTask,
  returnTask,
  splitTask,
  type ClaimedTask,
} from '@plumbline/db/batches/tasks'
import type { Tx } from '@plumbline/db/database'
import { retryStatement } from '@plumbline/db/retry'
import { packOutcomes, unpackSubjects, type ChunkSubjects, type StoredOutcome } from './codec.ts'
import type { Holder } from './task-lease.ts'
import { groupNameOf } from './keyed-stores.ts'
import type { Pipeline } from './pipeline.ts'
import { settleChunk } from './settle.ts'

/** What stands in place of an answer where a fault of ours is known to keep it back: an error, uncharged. */
export interface Failed {
  readonly kind: 'failed'
}

/** Answers one kind of check; what a worker hands to the pipeline. */
export interface CheckRunner {
  run(request: EngineRequest<Check>): Promise<readonly (Answer | Failed)[]>
}

/** Runs that fail before a task is halved. */
const MAX_ATTEMPTS = 3

/**
 * Runs of a single subject before it is given up, where its engine did not throw but every worker
 * that had it in hand was lost. More, since it may not be the subject's fault; with the rests
 * between them a record outlasts a machine that restarts for 50 leases.
 */
const MAX_ATTEMPTS_ALONE = 6

/** How long a task rests after its engine threw, doubled with each try. */
const REST_MS = 200

/**
 * Works one task: claims it, asks the engine, saves what is known now and then, and stores the rest
 * at the end. The call that brings in a chunk's last outcome settles the chunk.
 * Does nothing where the lease is lost: another worker has the task. Where its batch is canceled, what is
 * being bought is awaited, what is known is stored, and the rest is dropped.
 */
export async function runTask(
  pipeline: Pipeline,
  holder: Holder,
  engineOf: (check: Check, mode: ClaimedTask['mode']) => CheckRunner,
  job: { taskId: number; lease: number },
  signal: AbortSignal,
): Promise<void> {
  const task = await claimTask(pipeline.db.pool, job, pipeline.limits.leaseMs)
  if (task === undefined) return
  const work = openWork(task)
  const buys = task.mode === 'live' && PURCHASED_CHECKS.includes(task.check)
  if (task.canceling && !(buys && wasInHand(task))) {
    await save(pipeline, task, work, 'drop')
    return
  }
  if (task.attempts > (work.subjects.length === 1 ? MAX_ATTEMPTS_ALONE : MAX_ATTEMPTS)) {
    await giveUp(pipeline, task, work)
    return
  }
  using held = holder.hold(task)
  const ended = AbortSignal.any([signal, held.lost, ...(buys ? [] : [held.canceled])])
  const saver = startSaver(pipeline, task, work, ended)
  try {
    const engine = engineOf(task.check, task.mode)
    const answers = await engine.run(requestOf(task, work, { signal: ended, drain: held.canceled }))
    // What an aborted run says is no answer: the task is asked again.
    if (!ended.aborted) for (const [at, answer] of answers.entries()) work.answers[at] ??= answer
  } catch (error) {
    pipeline.log.error({ err: error, task: task.taskId, check: task.check }, 'engine failed')
    await saver.stop()
    await save(pipeline, task, work, 'stay')
    if (task.attempts >= MAX_ATTEMPTS) await giveUp(pipeline, task, work)
    else await restTask(pipeline.db.pool, task, REST_MS * 2 ** (task.attempts - 1))
    return
  }
  await saver.stop()
  if (held.lost.aborted) return
  if (held.canceled.aborted && !(buys && signal.aborted)) {
    await save(pipeline, task, work, 'drop')
  } else if (ended.aborted) {
    // What a stopping worker was told in time is kept; the rest goes to another at once.
    await giveBack(pipeline, task, work)
  } else {
    await save(pipeline, task, work, 'end')
  }
}

/** Whether a task may have been with an engine before this claim: each lease and each claim counts one. */
function wasInHand(task: ClaimedTask): boolean {
  return task.lease > 2 || task.indexes !== null
}

/** A task's subjects and what is known of them. Places count within the task. */
interface Work {
  readonly all: ChunkSubjects
  /** For each place of the task its place in the chunk's subjects. */
  readonly indexes: readonly number[]
  readonly subjects: readonly string[]
  readonly states: readonly (Json | null)[] | null
  /** Answers not stored yet, and which places are stored. */
  readonly answers: (Answer | Failed | undefined)[]
  readonly stored: boolean[]
  readonly whole: boolean
}

function openWork(task: ClaimedTask): Work {
  const all = unpackSubjects(task.subjects)
  const asked = all[task.check]?.subjects ?? []
  const indexes = task.indexes ?? asked.map((_, index) => index)
  const subjects = indexes.map((index) => {
    const subject = asked[index]
    if (subject === undefined)
      throw new Error(`task ${task.taskId} asks a subject not in its chunk`)
    return subject
  })
  return {
    all,
    indexes,
    subjects,
    states: task.states,
    answers: subjects.map(() => undefined),
    stored: subjects.map(() => false),
    whole: task.indexes === null,
  }
}

function requestOf(
  task: ClaimedTask,
  work: Work,
  { signal, drain }: { signal: AbortSignal; drain: AbortSignal },
): EngineRequest<Check> {
  return {
    subjects: work.subjects,
    ...(work.states === null ? {} : { states: work.states.map((state) => state ?? undefined) }),
    depth: task.depth,
    lane: 'bulk',
    tenant: task.accountId,
    signal,
    drain,
    answered: (index, answer) => {
      if (!signal.aborted) work.answers[index] ??= answer
    },
  }
}

/** Saves now and then, so that a kill repeats little. */
function startSaver(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: Work,
  ended: AbortSignal,
): { stop(): Promise<void> } {
  let saving: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    if (ended.aborted) return
    const known = work.answers.some((answer, at) => answer?.kind === 'outcome' && !work.stored[at])
    if (!known) return
    saving = saving
      .then(() => save(pipeline, task, work, 'stay'))
      .catch((error: unknown) => {
        pipeline.log.warn({ err: error, task: task.taskId }, 'saving in the middle failed')
      })
  }, pipeline.limits.saveMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await saving
    },
  }
}

async function giveBack(pipeline: Pipeline, task: ClaimedTask, work: Work): Promise<void> {
  const known = work.answers.some((answer, at) => answer?.kind === 'outcome' && !work.stored[at])
  if (known) await save(pipeline, task, work, 'stay')
  await returnTask(pipeline.db.pool, task)
}

/**
 * Stores the outcomes that are not stored yet. `stay` keeps the task for what is left, `end` closes
 * it and puts back what must wait, `drop` closes it and lets go of what is left. A chunk that is full
 * thereby is settled in the same transaction.
 */
async function save(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: Work,
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

async function storeOutcomes(
  pipeline: Pipeline,
  task: ClaimedTask,
  work: Work,
  outcomes: readonly StoredOutcome[],
  arrival: Arrival,
): Promise<void> {
  const { check } = task
  const scorer = await pipeline.scorers.of(task.weights)
  const store = async (tx: Tx): Promise<void> => {
    const remaining = await storeArrival(tx, arrival)
    if (remaining === undefined) {
      pipeline.log.info({ task: task.taskId }, 'lease lost; outcomes dropped')
      return
    }
    if (remaining > 0) return
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
        onlyCheck && arrival.indexes === null ? { check, indexes: null, outcomes } : undefined,
    })
  }
  await retryStatement(() => pipeline.db.kysely.transaction().execute(store))
}

/** Subjects that wait, one entry for each group; a group waits as long as its longest subject. */
function groupWaiting(
  { installationKey }: Pipeline,
  work: Work,
  later: readonly number[],
): readonly WaitingSubjects[] {
  const groups = new Map<
    string,
    { afterMs: number; holdsGroup: boolean; indexes: number[]; states: (Json | null)[] }
  >()
  for (const at of later) {
    const answer = work.answers[at]
    if (answer?.kind !== 'later') continue
    const group = groups.get(answer.group) ?? {
      afterMs: 0,
      holdsGroup: false,
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

/** What becomes of a task that keeps failing. */
async function giveUp(pipeline: Pipeline, task: ClaimedTask, work: Work): Promise<void> {
  if (task.canceling) await save(pipeline, task, work, 'drop')
  else await findPoison(pipeline, task, work)
}

/** Halves what is open of a task that keeps failing; a single subject is an error, uncharged. */
async function findPoison(pipeline: Pipeline, task: ClaimedTask, work: Work): Promise<void> {
  const open = [...work.stored.keys()].filter((at) => work.stored[at] !== true)
  if (open.length === 0) return
  pipeline.log.warn({ task: task.taskId, size: open.length }, 'task keeps failing')
  const indexes = open.map((at) => work.indexes[at] ?? -1)
  const states = work.states === null ? null : open.map((at) => work.states?.[at] ?? null)
  if (open.length === 1) {
    await storeOutcomes(pipeline, task, work, [null], {
      taskId: task.taskId,
      lease: task.lease,
      indexes,
      count: 1,
      outcomes: await packOutcomes([null], task.explain),
      waiting: [],
      stays: null,
    })
    return
  }
  const middle = open.length >> 1
  const half = (from: number, to: number): Parameters<typeof splitTask>[2][number] => ({
    indexes: indexes.slice(from, to),
    states: states?.slice(from, to) ?? null,
    // A half gets one try before it is halved again; a single subject all of them.
    attempts: to - from === 1 ? 0 : MAX_ATTEMPTS - 1,
  })
  await splitTask(pipeline.db.pool, task, [half(0, middle), half(middle, open.length)])
}
