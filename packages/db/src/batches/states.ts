import { BATCH_MOVES, BATCH_STATES, type BatchState } from '@plumbline/contract/batch'

/** States in which a worker has something to do, and the dispatcher looks often. */
export const WORKED_STATES = ['analyzing', 'running', 'finalizing', 'canceling'] as const

/** States with a stage to be leased: reading the rows, writing the result. */
export const STAGE_STATES = ['analyzing', 'finalizing', 'canceling'] as const

/** States of batches whose tasks go out. */
export const TASK_STATES_OF_BATCH = ['running', 'canceling'] as const

/** States in which the rows are read into chunks. */
export const INTAKE_STATES = ['analyzing', 'canceling'] as const

/** States of which no file is left. */
export const FILELESS_STATES = ['failed', 'expired'] as const

/** States from which the time of retention counts. */
export const RETAINED_STATES = ['ready', 'completed', 'canceled', 'failed'] as const

/** States that a batch may come from on its way to this one. */
export function statesBefore(to: BatchState): readonly BatchState[] {
  return BATCH_STATES.filter((state) => BATCH_MOVES[state].includes(to))
}

/** States as SQL reads them in `status in (...)`; safe, as they are literals of the table above. */
export function sqlStates(states: readonly BatchState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`
}
