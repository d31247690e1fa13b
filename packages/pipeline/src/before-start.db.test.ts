import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { readBalance } from '@plumbline/metering/balance'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { changeBatch } from './change.ts'
import { previewBatch } from './preview.ts'
import { getBatch } from './read.ts'
import { recheckBatch } from './recheck.ts'
import { sampleBatch } from './sample.ts'
import { startBatch } from './start.ts'

// Concurrent actions of a customer on a batch that waits at `ready`, and their charges.

const ROWS = 30
const LIST = `email\n${Array.from({ length: ROWS }, (_, no) => `u${no}@a.example`).join('\n')}\n`

async function work(harness: TestPipeline): Promise<void> {
  const { pipeline } = harness
  for (let round = 0; round < 3; round++) {
    await harness.answer()
    await closeFinishedBatches(pipeline.db)
    await pipeline.db.pool.query('update batches set lease_until = null')
    await harness.workStages()
  }
}

async function balanceOf({
  pipeline,
  owner,
}: TestPipeline): Promise<{ spent: number; held: number }> {
  expect(await auditLedger(pipeline.db)).toEqual([])
  const balance = await readBalance(pipeline.db, owner.accountId)
  const held = balance?.held ?? -1
  return { spent: 25_000 - (balance?.available ?? 0) - held, held }
}

test('of many samples begun concurrently one exists, and it is charged once', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  const { pipeline, owner } = harness
  const { id } = await harness.read(LIST, { autoStart: false })
  const begun = await Promise.allSettled(
    Array.from({ length: 20 }, () => sampleBatch(pipeline, owner, id)),
  )
  const refused = begun.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  expect(refused).toHaveLength(19)
  for (const reason of refused) expect(reason).toMatchObject({ code: 'conflict' })
  expect(await balanceOf(harness)).toEqual({ spent: 0, held: ROWS })
  await work(harness)
  expect(await balanceOf(harness)).toEqual({ spent: ROWS, held: 0 })
})

test.each(['change', 'cancel', 'start'] as const)(
  'a %s concurrent with a sample leaves no credits held without use',
  async (other) => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
    const { pipeline, owner } = harness
    const acts = {
      change: (id: string) => changeBatch(pipeline, owner, id, { header: false }),
      cancel: (id: string) => cancelBatch(pipeline, owner, id),
      start: (id: string) => startBatch(pipeline, owner, id),
    }
    for (let round = 0; round < 4; round++) {
      const { id } = await harness.read(LIST.replaceAll('@', `${round}@`), { autoStart: false })
      const before = await balanceOf(harness)
      const act = acts[other]
      const order = [() => sampleBatch(pipeline, owner, id), () => act(id)]
      if (round % 2 === 1) order.reverse()
      const done = await Promise.allSettled(order.map((each) => each()))
      for (const each of done) {
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'conflict' })
      }
      expect(done.some(({ status }) => status === 'fulfilled')).toBe(true)
      await work(harness)
      const after = await balanceOf(harness)
      expect(after.held).toBe(0)
      const view = await getBatch(pipeline, owner, id)
      expect(view.credits).toMatchObject({ held: 0, used: after.spent - before.spent })
      expect(after.spent - before.spent).toBeLessThanOrEqual(ROWS)
      expect(['ready', 'canceled', 'completed']).toContain(view.status)
    }
  },
)

test('concurrent changes are read one after the other, and the last preview is that of the batch', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read(`a,b\nann@a.example,bo@b.example\n`, { autoStart: false })
  const columns = Array.from({ length: 10 }, (_, no) => no % 2)
  const changed = await Promise.allSettled(
    columns.map((email) => changeBatch(pipeline, owner, id, { mapping: { email } })),
  )
  expect(changed.filter(({ status }) => status === 'rejected')).toEqual([])
  await work(harness)
  const view = await getBatch(pipeline, owner, id)
  expect(view).toMatchObject({ status: 'ready', rows: { total: 1, billable: 1 } })
  const options = { patienceMs: 0, signal: new AbortController().signal }
  const preview = await previewBatch(pipeline, owner, id, options)
  const mapped = preview.columns.findIndex(({ field }) => field === 'email')
  expect(view.mapping['email']?.column).toBe(mapped)
  expect(await balanceOf(harness)).toEqual({ spent: 0, held: 0 })
})

test('a recheck of a recheck of a recheck checks the same rows, each charged as its own', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  let { id } = await harness.read(LIST)
  await work(harness)
  const first = await getBatch(pipeline, owner, id)
  for (let depth = 1; depth <= 3; depth++) {
    const before = await balanceOf(harness)
    const made = await recheckBatch(pipeline, owner, id, { only: ['done'], chargeUnknown: true })
    await harness.workStages()
    await work(harness)
    const view = await getBatch(pipeline, owner, made.id)
    expect(view).toMatchObject({
      status: 'completed',
      origin: { batch: id, kind: 'recheck' },
      rows: { total: ROWS, billable: ROWS },
      verdicts: first.verdicts,
      credits: { used: ROWS, held: 0 },
    })
    expect((await balanceOf(harness)).spent - before.spent).toBe(ROWS)
    id = made.id
  }
})
