/** States of a batch. Source: decision 32. Drawn in the README. */
export const BATCH_STATES = [
  'analyzing',
  'ready',
  'running',
  'finalizing',
  'completed',
  'canceling',
  'canceled',
  'failed',
  'expired',
] as const
/** One of the states. */
export type BatchState = (typeof BATCH_STATES)[number]

/** The legal moves. A batch is moved by a statement that finds it only in a state it may come from. */
export const BATCH_MOVES: Readonly<Record<BatchState, readonly BatchState[]>> = {
  analyzing: ['ready', 'running', 'canceling', 'failed'],
  ready: ['running', 'canceling', 'failed', 'expired'],
  running: ['finalizing', 'canceling', 'failed'],
  finalizing: ['completed', 'canceling', 'failed'],
  completed: ['expired'],
  canceling: ['canceled', 'failed'],
  canceled: ['expired'],
  failed: ['expired'],
  expired: [],
}

/** States in which a batch still has work to do and counts against the account's limit. */
export const UNFINISHED_STATES: readonly BatchState[] = [
  'analyzing',
  'ready',
  'running',
  'finalizing',
  'canceling',
]

/** What kind a row of a list is; `total` is the sum of all four. */
export type RowKind = 'blank' | 'refused' | 'duplicate' | 'billable'
