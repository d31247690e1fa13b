import type { Db } from '@plumbline/db/database'
import { isTemporary, retryStatement } from '@plumbline/db/retry'
import { checkBalances } from './audit-balances.ts'
import { sumEntries } from './audit-entries.ts'
import {
  beginAudit,
  finishAudit,
  releaseAudit,
  readLastAudit,
  takeOverAudit,
  type AuditResult,
  type AuditRun,
} from './audit-run.ts'

/**
 * Audits the ledger if that is due by database time: each day from the last audited entry on, each
 * month from the first, in one process at a time; an interrupted audit is continued. It proves that
 * every balance is the sum of its entries and was never below zero, that the held credits are what
 * the open holds have left, that every hold adds up to its entries, that nothing was refunded twice
 * or beyond what was debited, that the current cycle's allowance was granted, and that every open
 * debit is in the ledger. Source: decision 15.
 *
 * @returns the result; undefined if none was due, or another process has it
 */
export async function auditWhenDue(db: Db, signal: AbortSignal): Promise<AuditResult | undefined> {
  const run = (await takeOverAudit(db)) ?? (await beginAudit(db))
  return run === undefined ? undefined : await workAudit(db, run, signal)
}

async function workAudit(db: Db, taken: AuditRun, signal: AbortSignal): Promise<AuditResult> {
  try {
    const summed = await sumEntries(db, taken, signal)
    const { run, faults } = await checkBalances(db, summed, signal)
    await finishAudit(db, run, faults)
  } catch (error) {
    // After an error the audit waits until its lease ends, so that the error does not repeat all
    // the time.
    if (signal.aborted || isTemporary(error)) await releaseAfterError(db, taken)
    throw error
  }
  const result = await readLastAudit(db)
  if (result === undefined) throw new Error(`audit ${taken.id} left no result`)
  return result
}

/** Releases an audit after an error. If that fails too, its lease runs out. */
async function releaseAfterError(db: Db, run: AuditRun): Promise<void> {
  try {
    await retryStatement(() => releaseAudit(db, run))
  } catch (error) {
    if (!isTemporary(error)) throw error
  }
}
