/** States of a batch. Source: decision 32. Drawn in `docs/batches.md`. */
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
/** State of a batch. */
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

/** Days after which a paused batch resumes automatically. */
export const PAUSED_DAYS = 7

/** Kind of a row of a batch. A known row is settled by a recent verdict of another service. */
export type RowKind = 'blank' | 'refused' | 'duplicate' | 'known' | 'billable'
