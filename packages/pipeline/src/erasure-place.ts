import type { KeyMode } from '@plumbline/contract/plans'
import type { BatchCursor } from '@plumbline/db/batches/blank'

/**
 * Stores that an erasure goes through, in this order; `again` is for batches whose rows came meanwhile, `ends` for
 * what was given up by others and is not gone yet.
 */
export type ErasureStep = 'batches' | 'again' | 'answers' | 'deliveries' | 'facts' | 'ends'

/** How far an erasure is; kept with it, so that any worker goes on. */
export interface ErasurePlace {
  readonly step: ErasureStep
  /** Modes whose batches are still to be gone through, the current one first. */
  readonly modes: readonly KeyMode[]
  /** The last batch that was begun. */
  readonly cursor: BatchCursor | null
  /** The batch under way, its next chunk, and whether it held a value. */
  readonly batch: string | null
  readonly chunkNo: number
  readonly isMet: boolean
  /** Batches whose rows were still being read. */
  readonly waiting: readonly string[]
  /** Batches that are gone through again. */
  readonly queue: readonly string[]
  /** When the way through the batches began, by the database's clock. */
  readonly since: string
  /** Where the search through another store stands. */
  readonly after: readonly string[] | null
  /** What is being forgotten in stores that take no part in a transaction, and by which step. */
  readonly forgetting: {
    readonly by: string
    readonly facts: number
    readonly purchases: number
  } | null
}

/** Modes whose data an erasure takes: a live key's is of all. */
export function modesOf(mode: KeyMode): readonly KeyMode[] {
  return mode === 'live' ? ['live', 'test'] : ['test']
}

/** Where an erasure begins. */
export function firstPlace(mode: KeyMode, since: string): ErasurePlace {
  return {
    step: 'batches',
    modes: modesOf(mode),
    cursor: null,
    batch: null,
    chunkNo: 0,
    isMet: false,
    waiting: [],
    queue: [],
    since,
    after: null,
    forgetting: null,
  }
}
