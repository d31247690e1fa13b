import type { Log } from '@plumbline/ports/log'
import { ACCOUNT_LIMITS, CALL_LIMITS } from '@plumbline/contract/limits'
import type { Product } from '@plumbline/contract/products'
import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Storage } from '@plumbline/storage/storage'
import type { InstallationKey } from './installation-key.ts'
import { uploadLimits, type UploadLimits } from '@plumbline/intake/limits'
import type { Scorers } from './scorers.ts'

/**
 * Connections, stores and limits that the steps of a batch use; opened by the program and passed to
 * each step.
 */
export interface Pipeline {
  readonly db: Db
  readonly queue: QueueBackend
  readonly storage: Storage
  /** Encrypts the names of waiting groups, so that reading the database does not reveal them. */
  readonly installationKey: InstallationKey
  readonly scorers: Scorers
  /** Directory for unfinished files. */
  readonly scratchDir: string
  readonly limits: PipelineLimits
  readonly log: Log
  /** Absent in programs that have no metrics of batches. */
  readonly countCredits?: BatchCreditCounter
}

/** Counts credits of batches once they are committed. */
export interface BatchCreditCounter {
  charged(product: Product, credits: number): void
  released(product: Product, credits: number): void
}

/** Limits and times of the pipeline. */
export interface PipelineLimits extends UploadLimits {
  /** Maximum number of unfinished batches, and of bytes of files, of one account. */
  readonly unfinishedBatches: number
  readonly accountFileBytes: number
  /** Maximum number of rows of one account that cost nothing, in a UTC day. */
  readonly unpaidRowsPerDay: number
  /** Records in a chunk. */
  readonly chunkRecords: number
  /** Milliseconds that a lease of a task or stage lasts without a renewal. */
  readonly leaseMs: number
  /** Milliseconds between two saves of a running task's outcomes. */
  readonly saveMs: number
}

/** The limits of decision 37; the times are our choice. */
export const DEFAULT_LIMITS: PipelineLimits = {
  ...uploadLimits(),
  unfinishedBatches: CALL_LIMITS.UNFINISHED_BATCHES_LIMIT,
  accountFileBytes: CALL_LIMITS.STORED_LIMIT_BYTES,
  unpaidRowsPerDay: ACCOUNT_LIMITS.UNPAID_ROWS_PER_DAY,
  chunkRecords: 1000,
  leaseMs: 30_000,
  saveMs: 5_000,
}
