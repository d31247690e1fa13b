import { getPriority, setPriority } from 'node:os'

/**
 * Priority of a process that serves batches alone, as `nice` counts: on a busy machine it gets a third
 * of the processor time of one that answers calls, which is enough for the dispatcher.
 */
const BATCHES_ALONE = 5

/** Lets a process that only reads uploads and writes results yield to those that answer calls. */
export function yieldToCalls(kinds: readonly string[]): void {
  if (kinds.every((kind) => kind === 'batch')) setPriority(Math.max(getPriority(), BATCHES_ALONE))
}
