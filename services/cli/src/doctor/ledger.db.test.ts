import { expect, test } from 'vitest'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { openMeteringContext } from '@plumbline/testkit/metering'
import { examineLedger } from './ledger.ts'

test('the doctor reports the result and age of the last audit of the ledger', async () => {
  await using context = await openMeteringContext()
  const location = {
    dataDir: '/nowhere',
    url: null,
    databaseUrl: context.url,
    redisUrl: null,
    keyPrefix: 'svc',
    stale: false,
  }
  const told = async (): Promise<string> => {
    const [finding] = await examineLedger(location)
    return `${finding?.status}: ${finding?.detail}`
  }
  const id = await context.account()
  expect(await told()).toBe('degraded: never audited')
  await auditLedger(context.db)
  expect(await told()).toBe(
    'ok: right; audited 0 minutes ago, from its first entry on 0 minutes ago',
  )
  await context.db.pool.query(
    "update ledger_audits set finished_at = finished_at - interval '50 hours'",
  )
  expect(await told()).toBe('degraded: audited 2 days ago, from its first entry on 2 days ago')
  await context.db.pool.query('update credit_accounts set allowance = allowance + 1')
  await auditLedger(context.db)
  expect(await told()).toContain(
    `failed: 1 fault, such as "balance is the sum of its entries" (${id}: has 201 + 0, entries give 200 + 0)`,
  )
})
