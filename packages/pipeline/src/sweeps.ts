import { setTimeout as wait } from 'node:timers/promises'
import { storeRunningSums } from '@plumbline/db/batches/sums'
import { sweepGroups } from '@plumbline/db/batches/groups'
import { sweepAccountless } from '@plumbline/db/people/sweep-accountless'
import {
  sweepExpired,
  sweepFormerMailboxes,
  sweepIdleSessions,
  sweepLongStored,
  sweepSurplusMessages,
} from '@plumbline/db/sweep-expired'
import { auditWhenDue } from '@plumbline/metering/audit'
import { startDueCycles, sweepUnanswered, type SweptDebit } from '@plumbline/metering/sweep'
import { RESULTS_EVERY_MS, restoreResults } from './lost-results.ts'
import { eraseBatches, expireBatches } from './erase.ts'
import { eraseClosedAccounts } from './erase-accounts.ts'
import { completePauses, resumeDue } from './pause.ts'
import type { Pipeline } from './pipeline.ts'
import { reconcile, reconcileFiles } from './reconcile.ts'
import { retryRemovals } from './remove-files.ts'
import { endOverdueSamples } from './sample.ts'
import { sweepParts, sweepStore } from './sweep-store.ts'

const FILES_EVERY_MS = 30 * 60_000

/** Milliseconds between two deletions of data that is stored for days. */
const LONG_STORED_EVERY_MS = 60_000

/**
 * Milliseconds between two searches for webhook messages beyond those that are kept, for sessions
 * without use, and for records of mailboxes whose accounts were closed long ago.
 */
const SURPLUS_EVERY_MS = 30 * 60_000

/** Milliseconds between two searches for users who have left all accounts. */
const ACCOUNTLESS_EVERY_MS = 60 * 60_000

/** Milliseconds between two checks for samples to end; samples end after a minute. */
const SAMPLES_EVERY_MS = 2_000

/** Maximum age, plus one second, of the sums of large batches in a listing. */
const SUMS_EVERY_MS = 5_000

/** Milliseconds between two checks whether an audit of the ledger is due. */
const AUDIT_POLL_MS = 60_000

/** One search for inconsistent state in so many sweeps. */
const SWEEPS_A_SEARCH = 4

/** Options of the sweeps. */
export interface SweepOptions {
  readonly everyMs: number
  /**
   * Seconds after which a debit whose call has no result is refunded (decision 12: within two
   * minutes).
   */
  readonly debitTimeoutSeconds: number
  /** Days after which files of the store that no batch references are removed. */
  readonly strayFilesDays: number
  /** Called with the debits that were refunded. */
  readonly onSwept: (debits: readonly SweptDebit[]) => void
}

/**
 * Runs the periodic clean-up until the signal aborts: refunds debits of calls that were never
 * answered, turns billing cycles, erases batches past their retention, deletes expired facts and users
 * who have left, and audits the ledger. Safe in several processes at once.
 */
export async function runSweeps(
  pipeline: Pipeline,
  options: SweepOptions,
  signal: AbortSignal,
): Promise<void> {
  const { db } = pipeline
  const every = async (everyMs: number, ...sweeps: readonly Sweep[]): Promise<void> =>
    await repeat(pipeline, sweeps, everyMs, signal)
  const walk = { afterId: '' }
  await Promise.all([
    // Debits in a loop of their own: their refund is due within two minutes, however long the others
    // take.
    every(options.everyMs, [
      'unanswered debits',
      async () => options.onSwept(await sweepUnanswered(db, options.debitTimeoutSeconds)),
    ]),
    every(
      options.everyMs,
      ['billing cycles', () => startDueCycles(db)],
      ['paused batches', () => resumeDue(pipeline)],
      ['pauses', inEveryFourthSweep(() => completePauses(pipeline))],
      ['expired', () => sweepExpired(db, signal)],
      ['groups', () => sweepGroups(db, signal)],
      ['reconcile', inEveryFourthSweep(() => reconcile(pipeline, { signal }))],
    ),
    // A loop of its own: it goes on while there are any, which may be for long after many lookups.
    every(options.everyMs, ['retention', () => expireBatches(pipeline, signal)]),
    every(options.everyMs, ['erasing', () => eraseBatches(pipeline, signal)]),
    // In a loop of their own, too: a store that hangs delays no other sweep.
    every(options.everyMs, ['closed accounts', () => eraseClosedAccounts(pipeline, signal)]),
    every(options.everyMs, ['removals of files', () => retryRemovals(pipeline, signal)]),
    every(options.everyMs, ['lost files', () => reconcileFiles(pipeline, { signal })]),
    every(SAMPLES_EVERY_MS, ['samples', () => endOverdueSamples(pipeline)]),
    every(RESULTS_EVERY_MS, ['lost results', () => restoreResults(pipeline, { walk, signal })]),
    every(SUMS_EVERY_MS, ['sums of large batches', () => storeRunningSums(db)]),
    every(
      FILES_EVERY_MS,
      ['files', () => sweepStore(pipeline, { graceDays: options.strayFilesDays, signal })],
      ['parts of files', () => sweepParts(pipeline, signal)],
    ),
    every(LONG_STORED_EVERY_MS, ['long-stored', () => sweepLongStored(db, signal)]),
    every(ACCOUNTLESS_EVERY_MS, ['users without account', () => sweepAccountless(db, signal)]),
    every(
      SURPLUS_EVERY_MS,
      ['surplus webhook messages', () => sweepSurplusMessages(db, signal)],
      ['idle sessions', () => sweepIdleSessions(db, signal)],
      ['former mailboxes', () => sweepFormerMailboxes(db, signal)],
    ),
    every(AUDIT_POLL_MS, ['ledger audit', () => auditAndLog(pipeline, signal)]),
  ])
}

async function auditAndLog({ db, log }: Pipeline, signal: AbortSignal): Promise<void> {
  const result = await auditWhenDue(db, signal)
  if (result === undefined) return
  const { whole, entryCount, faultCount, examples } = result
  const fields = { whole, entries: entryCount, faults: faultCount }
  if (faultCount === 0) log.info(fields, 'ledger audit passed')
  else log.error({ ...fields, examples }, 'the ledger has faults')
}

/**
 * Runs a search in every fourth sweep, once a minute by default, as it reads all that waits; in the
 * next sweep, too, if it has repaired something, since more may be left.
 *
 * @param search returns how much it has repaired
 */
export function inEveryFourthSweep(search: () => Promise<number>): () => Promise<void> {
  let skips = 0
  return async () => {
    if (skips > 0) {
      skips -= 1
      return
    }
    skips = SWEEPS_A_SEARCH - 1
    if ((await search()) > 0) skips = 0
  }
}

type Sweep = readonly [name: string, sweep: () => Promise<unknown>]

async function repeat(
  pipeline: Pipeline,
  sweeps: readonly Sweep[],
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    for (const [name, sweep] of sweeps) {
      try {
        await sweep()
      } catch (error) {
        if (!signal.aborted) pipeline.log.warn({ err: error, sweep: name }, 'sweep failed')
      }
    }
    try {
      await wait(everyMs, undefined, { signal })
    } catch {
      return
    }
  }
}
