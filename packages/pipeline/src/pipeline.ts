import type { Log } from '@plumbline/ports/log'
import { ACCOUNT_LIMITS, CALL_LIMITS } from '@plumbline/contract/limits'
import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Storage } from '@plumbline/storage/storage'
import type { InstallationKey } from './installation-key.ts'
import { uploadLimits, type UploadLimits } from '@plumbline/intake/limits'
import type { Scorers } from './scorers.ts'

/** What the steps of a batch work on: connections, stores and bounds, opened by the program and passed to each step. */
export interface Pipeline {
  readonly db: Db
  readonly queue: QueueBackend
  readonly storage: Storage
  /** Hides what subjects wait for from who reads the database. */
  readonly installationKey: InstallationKey
  readonly scorers: Scorers
  /** Directory for unfinished files. */
  readonly scratchDir: string
  readonly limits: PipelineLimits
  readonly log: Log
}

/** Bounds and times of the pipeline. */
export interface PipelineLimits extends UploadLimits {
  /** Unfinished batches and bytes of files of one account. */
  readonly unfinishedBatches: number
  readonly accountFileBytes: number
  /** Rows of one account that nobody pays for, in a UTC day. */
  readonly unpaidRowsPerDay: number
  /** Records in a chunk. */
  readonly chunkRecords: number
  /** How long a lease of a task or stage holds without a renewal. */
  readonly leaseMs: number
  /** Time between two saves of the outcomes of a running task. */
  readonly saveMs: number
}

/** Bounds of decision 37; the times are our choice. */
export const DEFAULT_LIMITS: PipelineLimits = {
  ...uploadLimits(),
  unfinishedBatches: CALL_LIMITS.UNFINISHED_BATCHES_LIMIT,
  accountFileBytes: CALL_LIMITS.STORED_LIMIT_BYTES,
  unpaidRowsPerDay: ACCOUNT_LIMITS.UNPAID_ROWS_PER_DAY,
  chunkRecords: 1000,
  leaseMs: 30_000,
  saveMs: 5_000,
}
