import { mkdir } from 'node:fs/promises'
import { ACCOUNT_LIMITS, UPLOAD_LIMITS } from '@plumbline/contract/limits'
import { findListsDir, updatedListsDir as updatedDir } from '@plumbline/datasets/lists-dir'
import type { Check } from '@plumbline/contract/products'
import type { TaskCapacity } from '@plumbline/db/workers'
import { DEFAULT_CAPACITY, capacityOf } from '@plumbline/pipeline/task-capacity'
import { DEFAULT_LIVE_LIMITS, type LiveLimits } from '@plumbline/queue/live-admission'
import { adminPort, adminSettings } from '@plumbline/runtime/admin-server'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { retired, secondsList, wholeNumber, wholeNumbers } from '@plumbline/runtime/settings'
import { logLevel, migrateDatabaseUrl, storeSettings } from '@plumbline/runtime/store-settings'
import { tracingSettings } from '@plumbline/runtime/tracing-settings'
import { z } from 'zod'

const eachSetting = z.object({
  ...storeSettings,
  MIGRATE_DATABASE_URL: migrateDatabaseUrl(),
  ...engineSettings,
  ...adminSettings,
  ...tracingSettings,
  /** Unset: a worker has no admin port. */
  WORKER_ADMIN_PORT: adminPort().optional(),
  ...wholeNumbers(UPLOAD_LIMITS),
  ...wholeNumbers(ACCOUNT_LIMITS),
  ...wholeNumbers({
    /** Concurrent single-call subjects of one check in one worker. */
    LIVE_SUBJECTS: DEFAULT_LIVE_LIMITS.subjects,
    /** Of these, subjects of one account without a reply for two seconds. */
    LIVE_SLOW_PER_ACCOUNT: DEFAULT_LIVE_LIMITS.slowPerAccount,
    CHUNK_RECORDS: 1_000,
    SAVE_SECONDS: 5,
    SWEEP_SECONDS: 15,
    DRAIN_SECONDS: 20,
  }),
  LIVE_CONCURRENCY: retired('LIVE_SUBJECTS, which counts subjects and not jobs'),
  LOG_LEVEL: logLevel('info'),
  /**
   * Concurrent tasks of batches of one check in this worker; unset: 16 of email and phone, 8 of ip,
   * 64 of domain.
   */
  BULK_TASKS: wholeNumber({ min: 1, max: 10_000 }).optional(),
  BULK_SLOTS: retired('BULK_TASKS, which each worker has for itself'),
  BULK_RESERVE: retired(
    'BULK_TASKS; a quarter of them is kept for accounts that have none in work',
  ),
  /** Time-out of a message to an endpoint. */
  WEBHOOK_TIMEOUT_SECONDS: wholeNumber({ min: 1, max: 30 }).default(15),
  /** Seconds between consecutive attempts; after the last the message has failed. */
  WEBHOOK_RETRY_SECONDS: secondsList().default([
    5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
  ]),
  /** Days without a successful delivery after which an endpoint is disabled. */
  WEBHOOK_FAILING_DAYS: wholeNumber({ min: 1 }).default(5),
  /** Whether the batch workers update the reference lists once a day. */
  DATA_UPDATE: z.enum(['daily', 'off']).default('daily'),
  LEASE_SECONDS: wholeNumber({ min: 2 }).default(30),
  /** Days after which files of the store that no batch references are removed. */
  STRAY_FILES_DAYS: wholeNumber({ min: 1, max: 365 }).default(7),
})

/** Seconds after which an unanswered debit is refunded at the latest. Source: decision 12. */
const REFUND_SECONDS = 120

/** Settings of every worker. Documented in docs/settings.md. */
export const workerSettings = eachSetting.refine(
  (all) => all.DEBIT_TIMEOUT_SECONDS + all.SWEEP_SECONDS <= REFUND_SECONDS,
  {
    path: ['DEBIT_TIMEOUT_SECONDS'],
    error: `expected at most ${REFUND_SECONDS} together with SWEEP_SECONDS`,
  },
)

/** The parsed settings. */
export type WorkerSettings = Readonly<z.infer<typeof workerSettings>>

/**
 * The folder of the operator's lists; null for none. The default folder is created, so that its
 * first update is noticed.
 */
export async function listsDir({
  LISTS_DIR,
  DATA_DIR,
}: Pick<WorkerSettings, 'LISTS_DIR' | 'DATA_DIR'>): Promise<string | null> {
  if (LISTS_DIR === undefined) {
    // Nothing is lost where a worker may not write: the packaged lists serve.
    await mkdir(updatedDir(undefined, DATA_DIR), { recursive: true }).catch(() => undefined)
  }
  return await findListsDir(LISTS_DIR, DATA_DIR)
}

/** The folder that updated lists are written to, whether or not it exists. */
export function updatedListsDir({ LISTS_DIR, DATA_DIR }: WorkerSettings): string {
  return updatedDir(LISTS_DIR, DATA_DIR)
}

/** Concurrent tasks of batches of a check that this worker accepts. */
export function taskCapacityOf(
  { BULK_TASKS }: Pick<WorkerSettings, 'BULK_TASKS'>,
  check: Check,
): TaskCapacity {
  return BULK_TASKS === undefined ? DEFAULT_CAPACITY[check] : capacityOf(BULK_TASKS)
}

/**
 * Least milliseconds of a lock: a worker that is briefly busy still renews it in time, which it
 * does at half of this.
 */
const LEAST_JOB_LOCK_MS = 5_000

/** Times of the locks of jobs, in milliseconds, as options of `work`. */
export interface JobLock {
  readonly lockMs: number
  readonly stalledMs: number
}

/**
 * The locks of a batch's jobs. A worker may die between taking a job and claiming its task, which
 * no lease shows: the task then waits for the end of the lock and the next search, which together
 * take one lease. The lock is two thirds of it and renewed at half of that, so that a worker whose
 * event loop is blocked for a third of a lease (10 s of 30) keeps its jobs; one that is blocked for
 * longer finds its tasks still claimed, as their leases last longer than the locks.
 */
export function jobLockOf({ LEASE_SECONDS }: Pick<WorkerSettings, 'LEASE_SECONDS'>): JobLock {
  const lockMs = Math.max(Math.ceil((LEASE_SECONDS * 2_000) / 3), LEAST_JOB_LOCK_MS)
  return { lockMs, stalledMs: Math.ceil(lockMs / 2) }
}

/**
 * Milliseconds that jobs under way may continue when the worker stops: for tasks a quarter of the
 * drain, as they are then returned; for single calls twice that; the engines are closed afterwards.
 */
export function graceOf({ DRAIN_SECONDS }: Pick<WorkerSettings, 'DRAIN_SECONDS'>): number {
  return DRAIN_SECONDS * 250
}

/** Limits of concurrent single calls of one check. */
export function liveLimitsOf(
  settings: Pick<WorkerSettings, 'LIVE_SUBJECTS' | 'LIVE_SLOW_PER_ACCOUNT'>,
): LiveLimits {
  return { subjects: settings.LIVE_SUBJECTS, slowPerAccount: settings.LIVE_SLOW_PER_ACCOUNT }
}
