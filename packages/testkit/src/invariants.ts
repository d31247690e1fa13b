import { auditLedger } from './audit-ledger.ts'
import type { BatchView } from '@plumbline/contract/batch-view'
import Papa from 'papaparse'
import { expect } from 'vitest'
import type { Account, TestService } from './service.ts'

/** Asserts that a batch has completed after a fault: every row, exact charges, an intact ledger, no task left. */
export async function expectIntact(
  service: TestService,
  account: Account,
  batch: BatchView,
  emails: readonly string[],
): Promise<void> {
  expect(batch.status).toBe('completed')
  expect(batch.rows.done).toBe(batch.rows.total)
  expect(batch.credits.used).toBe(batch.rows.billable)
  const response = await service.call(account.liveKey, 'GET', `/v1/batches/${batch.id}/results`)
  const { data } = Papa.parse<Record<string, string>>(await response.text(), {
    header: true,
    skipEmptyLines: true,
  })
  expect(data.map((row) => row['email'])).toEqual(emails)
  expect(data.every((row) => row['result.email'] === row['email'])).toBe(true)
  expect(data.every((row) => row['result.credits_charged'] === '1')).toBe(true)
  await expectLedgerIntact(service)
  const { rows } = await service.db.pool.query<{ tasks: number }>(
    'select count(*) as tasks from tasks',
  )
  expect(rows[0]?.tasks).toBe(0)
}

/** Asserts that the ledger's own audit finds nothing. */
export async function expectLedgerIntact(service: TestService): Promise<void> {
  expect(await auditLedger(service.db)).toEqual([])
}
