/** States of a batch. Source: decision 32. Drawn in the README. */
export const BATCH_STATES = [
  'analyzing',
  'ready',
  'running',
  'paused',
  'finalizing',
  'completed',
  'canceling',
  'canceled',
  'failed',
  'expired',
] as const
/** One of the states. */
export type BatchState = (typeof BATCH_STATES)[number]

/** The legal moves. A statement moves a batch only from a state that this table allows. */
export const BATCH_MOVES: Readonly<Record<BatchState, readonly BatchState[]>> = {
  analyzing: ['ready', 'running', 'canceling', 'failed'],
  ready: ['analyzing', 'running', 'canceling', 'failed', 'expired'],
  running: ['paused', 'finalizing', 'canceling', 'failed'],
  paused: ['running', 'canceling', 'failed'],
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
  'paused',
  'finalizing',
  'canceling',
]

/** Days after which a paused batch goes on by itself. */
export const PAUSED_DAYS = 7

/**
 * What kind a row of a batch is; `total` is the sum of all five. A known one has a fresh verdict of another
 * service, by which the batch goes.
 */
export type RowKind = 'blank' | 'refused' | 'duplicate' | 'known' | 'billable'
