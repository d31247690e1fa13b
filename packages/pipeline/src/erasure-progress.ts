import type { KeyMode } from '@plumbline/contract/plans'
import type { BatchCursor } from '@plumbline/db/batches/own-batches'

/**
 * The steps of an erasure, in this order: `batches`, `again` for batches whose rows were still
 * being read, `answers` (stored responses), `deliveries` (webhook messages), `facts` (caches), and
 * `ends`, which waits for deletions under way.
 */
export type ErasureStep = 'batches' | 'again' | 'answers' | 'deliveries' | 'facts' | 'ends'

/** Progress of an erasure, stored with it so that any worker can continue. */
export interface ErasureProgress {
  readonly step: ErasureStep
  /** Key modes whose batches are still to be searched, the current one first. */
  readonly modes: readonly KeyMode[]
  /** The last batch that was begun. */
  readonly cursor: BatchCursor | null
  /** The current batch, its next chunk, and whether it held a value. */
  readonly batch: string | null
  readonly chunkNo: number
  readonly isMet: boolean
  /** The change of the current batch after which its chunks were read. */
  readonly readNo: number | null
  /** Batches whose rows were still being read, or are read again since a change. */
  readonly waiting: readonly string[]
  /** Batches that are searched again. */
  readonly queue: readonly string[]
  /** When the search of the batches began, by the database's clock. */
  readonly since: string
  /** Position in another store. */
  readonly after: readonly string[] | null
  /**
   * Facts that are being deleted from stores outside of the transaction, and the step that deletes
   * them.
   */
  readonly forgetting: {
    readonly by: string
    readonly facts: number
    readonly purchases: number
  } | null
}

/** Modes whose data an erasure covers: with a live key those of both modes. */
export function modesOf(mode: KeyMode): readonly KeyMode[] {
  return mode === 'live' ? ['live', 'test'] : ['test']
}

/** The initial progress of an erasure. */
export function firstProgress(mode: KeyMode, since: string): ErasureProgress {
  return {
    step: 'batches',
    modes: modesOf(mode),
    cursor: null,
    batch: null,
    chunkNo: 0,
    isMet: false,
    readNo: null,
    waiting: [],
    queue: [],
    since,
    after: null,
    forgetting: null,
  }
}
