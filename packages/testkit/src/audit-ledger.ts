import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '@plumbline/db/database'
import { auditWhenDue } from '@plumbline/metering/audit'
import { readLastAudit, type LedgerFault } from '@plumbline/metering/audit-run'

const POLL_MS = 50
const LONGEST_WAIT_MS = 60_000

/**
 * Audits the whole ledger now, by the service's own audit, and returns the violations: earlier audits
 * are moved back in time, so that a full one is due. An audit in progress is awaited, or completed if
 * its process is gone.
 *
 * @throws if an audit in progress does not end within a minute
 */
export async function auditLedger(db: Db): Promise<readonly LedgerFault[]> {
  const { signal } = new AbortController()
  const until = performance.now() + LONGEST_WAIT_MS
  const before = await newestAudit(db)
  for (;;) {
    await makeDue(db)
    await auditWhenDue(db, signal)
    const last = await readLastAudit(db)
    if (last !== undefined && last.whole && last.id > before) return last.examples
    if (performance.now() > until) {
      throw new Error(
        'another process has audited for over a minute; try again in a quarter of an hour',
      )
    }
    await wait(POLL_MS)
  }
}

async function newestAudit(db: Db): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>(
    'select coalesce(max(id), 0) as id from ledger_audits',
  )
  return rows[0]?.id ?? 0
}

async function makeDue(db: Db): Promise<void> {
  await db.pool.query(
    `update ledger_audits set started_at = started_at - interval '2 months'
     where finished_at is not null and started_at > clock_timestamp() - interval '1 month'`,
  )
}
