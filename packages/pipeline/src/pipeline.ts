import type { Check } from '@plumbline/contract/products'
import type { FraudScorer } from '@plumbline/contract/score'
import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Storage } from '@plumbline/storage/storage'

/** The live things that the steps of a batch work on; built by a program, passed to each step. */
export interface Pipeline {
  readonly db: Db
  readonly queue: QueueBackend
  readonly storage: Storage
  readonly scoreFraud: FraudScorer
  /** Directory for files in the making. */
  readonly scratchDir: string
  readonly limits: PipelineLimits
  readonly log: PipelineLog
}

/** Bounds and times of the pipeline. Source of the defaults: decision 37 and design.md. */
export interface PipelineLimits {
  readonly uploadBytes: number
  readonly rows: number
  readonly columns: number
  readonly cellBytes: number
  readonly lineBytes: number
  /** Unfinished lists and bytes of files of one account. */
  readonly unfinishedLists: number
  readonly accountFileBytes: number
  /** Records in a chunk. */
  readonly chunkRecords: number
  /** How long a task or stage may go without a sign of life. */
  readonly leaseMs: number
  /** How often a task in hand saves the answers it has. */
  readonly saveMs: number
  /** Tasks of each check in flight, and beyond that for accounts that have none. */
  readonly slots: Slots
  readonly reserve: number
}

export type Slots = Readonly<Record<Check, number>>

/**
 * Tasks of each check in flight. Lookups of addresses keep a core busy; tasks of domains mostly wait
 * for registries, of which each has one task out at a time.
 */
export const DEFAULT_SLOTS: Slots = { email: 16, phone: 16, ip: 8, domain: 64 }

export const DEFAULT_LIMITS: PipelineLimits = {
  uploadBytes: 512 * 1024 * 1024,
  rows: 5_000_000,
  columns: 200,
  cellBytes: 8 * 1024,
  lineBytes: 64 * 1024,
  unfinishedLists: 10,
  accountFileBytes: 5 * 1024 * 1024 * 1024,
  chunkRecords: 1000,
  leaseMs: 30_000,
  saveMs: 5_000,
  slots: DEFAULT_SLOTS,
  reserve: 4,
}

/** Where steps tell what happened; subjects never go in. */
export interface PipelineLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
