import type { Json } from '@plumbline/contract/outcome'
import type { Answer, EngineRequest } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import type { ClaimedTask } from '@plumbline/db/batches/tasks'
import { isErasedSubject } from './erased-row.ts'
import { unpackSubjects, type ChunkSubjects } from './codec.ts'

/** In place of an outcome that a fault of the service prevented for good: an error, uncharged. */
export interface Failed {
  readonly kind: 'failed'
}

/**
 * The subjects of a claimed task and their outcomes. All arrays are indexed by the subject's index
 * in the task.
 */
export interface TaskWork {
  readonly all: ChunkSubjects
  /** Each subject's index among the chunk's subjects of this check. */
  readonly indexes: readonly number[]
  readonly subjects: readonly string[]
  readonly states: readonly (Json | null)[] | null
  /** Subjects that are checked: all except erased ones, which end as an error, uncharged. */
  readonly asked: readonly number[]
  /** Outcomes that are not stored yet, and a mark for those that are. */
  readonly answers: (Answer | Failed | undefined)[]
  readonly stored: boolean[]
  /** The waiting group under whose limit a subject was answered, as named by the engine. */
  readonly groups: (string | undefined)[]
  /** Whether the task has every subject of its chunk and check. */
  readonly whole: boolean
}

/** Unpacks the subjects of a task. */
export function unpackTaskWork(task: ClaimedTask): TaskWork {
  const all = unpackSubjects(task.subjects)
  const asked = all[task.check]?.subjects ?? []
  const indexes = task.indexes ?? asked.map((_, index) => index)
  const subjects = indexes.map((index) => {
    const subject = asked[index]
    if (subject === undefined)
      throw new Error(`task ${task.taskId} has a subject that is not in its chunk`)
    return subject
  })
  return {
    all,
    indexes,
    subjects,
    states: task.states,
    asked: [...subjects.keys()].filter((at) => !isErasedSubject(subjects[at] ?? '')),
    answers: subjects.map((subject) =>
      isErasedSubject(subject) ? ({ kind: 'failed' } as const) : undefined,
    ),
    stored: subjects.map(() => false),
    groups: subjects.map(() => undefined),
    whole: task.indexes === null,
  }
}

/** The request to the engine; early outcomes are recorded in `work` until the signal aborts. */
export function requestOf(
  task: ClaimedTask,
  work: TaskWork,
  { signal, drain }: { signal: AbortSignal; drain: AbortSignal },
): EngineRequest<Check> {
  const { asked, states } = work
  return {
    subjects: asked.map((at) => work.subjects[at] ?? ''),
    ...(states === null ? {} : { states: asked.map((at) => states[at] ?? undefined) }),
    depth: task.depth,
    lane: 'bulk',
    account: task.accountId,
    signal,
    drain,
    answered: (index, answer, group) => {
      const at = asked[index]
      if (signal.aborted || at === undefined || work.answers[at] !== undefined) return
      work.answers[at] = answer
      work.groups[at] = group
    },
  }
}

/** Whether there are outcomes that are not stored yet. */
export function hasUnsaved(work: TaskWork): boolean {
  return work.answers.some((answer, at) => answer?.kind === 'outcome' && !work.stored[at])
}
