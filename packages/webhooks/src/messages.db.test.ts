import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { inTransaction } from '@plumbline/db/database'
import { createWebhook, newWebhookId } from '@plumbline/db/webhooks/endpoints'
import { deleteBatch } from '@plumbline/pipeline/erase'
import { beginLookup } from '@plumbline/pipeline/lookup'
import { blockChange } from '@plumbline/testkit/block-change'
import { PATIENT } from '@plumbline/testkit/patience'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test, vi } from 'vitest'
import { makeMessages } from './messages.ts'

test('no message is made about a batch that is being deleted', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  await subscribe(harness)
  const kept = await completeBatch(harness)
  const deleted = await completeBatch(harness)
  // As a large batch is, whose rows are deleted in steps.
  await db.pool.query(`update batches set erasing = 'all' where id = $1`, [deleted])
  expect(await makeMessages(harness.pipeline)).toBe(2)
  expect(await subjectsTold(harness)).toEqual([kept])
})

test.each([
  ['batch', completeBatch],
  ['lookup', completeLookup],
])('a %s that is deleted while its message is made leaves none', async (_, complete) => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  await subscribe(harness)
  const id = await complete(harness)
  await using insert = await blockChange(harness.databaseUrl, {
    table: 'webhook_deliveries',
    change: 'insert',
  })
  const making = makeMessages(pipeline)
  await insert.reached()
  const deleting = deleteBatch(pipeline, owner, id)
  await Promise.race([deleting, someoneWaits(harness)])
  await insert.release()
  await Promise.all([making, deleting])
  expect(await subjectsTold(harness)).toEqual([])
})

async function subscribe({ pipeline: { db }, owner: { accountId } }: TestPipeline): Promise<void> {
  const endpoint = {
    id: newWebhookId(),
    accountId,
    url: 'https://hooks.example/',
    events: ['batch.completed', 'lookup.completed'],
    secret: 'sealed',
    most: 10,
  } as const
  await inTransaction(db, (tx) => createWebhook(tx, endpoint))
}

async function completeBatch(harness: TestPipeline): Promise<string> {
  const { id } = await harness.read('email\nada@example.com\n')
  await complete(harness)
  return id
}

async function completeLookup(harness: TestPipeline): Promise<string> {
  const { pipeline, owner } = harness
  let id = ''
  const wanted = { product: 'email', values: { email: 'ada@example.com' }, most: 10 } as const
  const request = { ...owner, ...wanted, explain: false, chargeUnknown: true }
  await beginLookup(pipeline, request, async (_tx, view) => {
    id = view.id
  })
  await complete(harness)
  return id
}

async function complete(harness: TestPipeline): Promise<void> {
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
}

/** What the stored messages are about. */
async function subjectsTold({ pipeline: { db } }: TestPipeline): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ subject: string }>(
    'select subject from webhook_deliveries',
  )
  return rows.map(({ subject }) => subject)
}

/** Resolves once a transaction waits for a row that another has locked. */
async function someoneWaits({ pipeline: { db } }: TestPipeline): Promise<void> {
  await vi.waitFor(async () => {
    const { rowCount } = await db.pool.query(
      `select from pg_locks where not granted and locktype in ('transactionid', 'tuple')`,
    )
    expect(rowCount).toBeGreaterThan(0)
  }, PATIENT)
}
