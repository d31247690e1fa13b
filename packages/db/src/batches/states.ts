import { BATCH_MOVES, BATCH_STATES, type BatchState } from '@plumbline/contract/batch'

/**
 * States in which a batch has work to dispatch; the dispatcher polls often while a batch is in one.
 */
export const WORKED_STATES = ['analyzing', 'running', 'finalizing', 'canceling'] as const

/** States with a stage to lease: reading the rows, or writing the result. */
export const STAGE_STATES = ['analyzing', 'finalizing', 'canceling'] as const

/** States of batches whose tasks are dispatched. */
export const TASK_STATES_OF_BATCH = ['running', 'canceling'] as const

/** States in which the rows are read into chunks. */
export const INTAKE_STATES = ['analyzing', 'canceling'] as const

/** States in which a batch has no files any more. */
export const FILELESS_STATES = ['failed', 'expired'] as const

/** States in which the retention time runs. */
export const RETAINED_STATES = ['ready', 'completed', 'canceled', 'failed'] as const

/** States in which a batch has ended; its watchers and webhooks are notified. */
export const ENDED_STATES = ['completed', 'canceled', 'failed'] as const

/** States from which a batch may move to this one. */
export function statesBefore(to: BatchState): readonly BatchState[] {
  return BATCH_STATES.filter((state) => BATCH_MOVES[state].includes(to))
}

/** States as an SQL list for `status in (...)`; safe, as they are literals of the tables above. */
export function sqlStates(states: readonly BatchState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`
}
