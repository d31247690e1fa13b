import type { KeyMode } from '@plumbline/contract/plans'
import { expect, test } from 'vitest'
import { moveToPlan } from '@plumbline/metering/administer'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { blockChange } from '@plumbline/testkit/block-change'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expireBatches } from './erase.ts'
import { beginLookup } from './lookup.ts'

async function begin(
  { pipeline, owner }: TestPipeline,
  most: number,
  mode: KeyMode = 'live',
): Promise<void> {
  await beginLookup(
    pipeline,
    {
      ...owner,
      mode,
      product: 'email',
      values: { email: 'ada@example.com' },
      explain: false,
      chargeUnknown: true,
      most,
    },
    async () => {},
  )
}

test('of concurrent lookups of an account as many begin as may be open', async () => {
  await using harness = await openTestPipeline()
  const begun = await Promise.allSettled(Array.from({ length: 6 }, () => begin(harness, 2)))
  const refused = begun.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(4)
  for (const one of refused) {
    expect(one).toMatchObject({ reason: { code: 'too_many_requests' } })
  }
})

test('a change of plan does not wait for a lookup, which waits for the balance next', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner, databaseUrl } = harness
  await using blocked = await blockChange(databaseUrl, { table: 'batches', change: 'insert' })
  const beginning = begin(harness, 2)
  await blocked.reached()
  const { accountId } = owner
  const changed = await moveToPlan(pipeline.db, { actor: 'ada', accountId, plan: 'starter' })
  expect(changed).toMatchObject({ nextPlan: 'starter' })
  await blocked.release()
  await beginning
})

test('lookups of a test key count as unpaid rows, and are refused beyond the limit of a day', async () => {
  await using harness = await openTestPipeline({ limits: { unpaidRowsPerDay: 2 } })
  await begin(harness, 10, 'test')
  await begin(harness, 10, 'test')
  await expect(begin(harness, 10, 'test')).rejects.toMatchObject({ code: 'too_many_requests' })
  await begin(harness, 10)
})

test('one sweep erases all lookups whose retention is over, however many', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  for (let no = 0; no < 120; no++) await begin(harness, 200)
  await allowAnyTransition(db)
  await db.pool.query(
    "update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'",
  )
  expect(await expireBatches(harness.pipeline)).toBe(120)
})
