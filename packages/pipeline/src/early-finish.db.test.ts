import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { expect, test, vi } from 'vitest'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { leaseDueStages, openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { pagesOfChunks } from './chunk-pages.ts'
import { finishNext } from './early-finish.ts'
import { finish, runFinish } from './finish.ts'
import { getBatch } from './read.ts'
import { openResults } from './results.ts'

const CHUNKS = 20
const ROWS = CHUNKS * 10
const PATIENT = { pollMs: 5, longestMs: 60_000 }
const never = new AbortController().signal

/** Every third row duplicates one of an earlier chunk. */
const CONTENT = `email,n\n${Array.from({ length: ROWS }, (_, row) => {
  const user = row % 3 === 2 && row > 20 ? Math.floor(row / 2) - 5 : row
  return `user${user}@example.com,${row}\n`
}).join('')}`

async function openHarness(): Promise<TestPipeline> {
  return await openTestPipeline({ limits: { chunkRecords: 10 } })
}

/** Runs the open finish stages, as a dispatcher and a worker would. */
async function finishAll({ pipeline }: TestPipeline): Promise<number> {
  await closeFinishedBatches(pipeline.db)
  const stages = await leaseDueStages(pipeline, pipeline.limits.leaseMs)
  for (const stage of stages) await runFinish(pipeline, stage, never)
  return stages.length
}

async function statusOf(harness: TestPipeline, id: string): Promise<string> {
  return (await getBatch(harness.pipeline, harness.owner, id)).status
}

async function fileOf(harness: TestPipeline, id: string): Promise<string> {
  const request = { format: 'csv', only: [], raw: false, after: 0 } as const
  const { stream, finished } = await openResults(harness.pipeline, harness.owner, id, request)
  const content = await text(stream)
  expect(finished?.bytes).toBe(Buffer.byteLength(content))
  return content
}

/** Sizes in bytes of unfinished result files, one for each batch. */
async function sizesInTheMaking({ files: root }: TestPipeline): Promise<number[]> {
  const folder = join(root, 'results')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.part'))
  return await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size))
}

test('a result is written while its batch runs, and is the file of the ended batch', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  const early = finishNext(harness.pipeline, ROWS, never, PATIENT)
  await harness.answer(CHUNKS / 2)
  await expect.poll(async () => (await sizesInTheMaking(harness))[0]).toBeGreaterThan(8_000)
  expect(await statusOf(harness, id)).toBe('running')
  await harness.answer()
  await early
  expect(await getBatch(harness.pipeline, harness.owner, id)).toMatchObject({
    status: 'completed',
    credits: { held: 0 },
    rows: { total: ROWS },
  })
  expect(await finishAll(harness)).toBe(0)

  const other = await harness.read(CONTENT)
  await harness.answer()
  expect(await finishAll(harness)).toBe(1)
  expect(await fileOf(harness, id)).toBe(await fileOf(harness, other.id))
  expect(await sizesInTheMaking(harness)).toEqual([])
})

test('writing waits at an open chunk, whatever is settled after it', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  const { rows } = await harness.pipeline.db.pool.query(
    `update tasks set lease = lease + 1, lease_until = clock_timestamp() + interval '1 hour' where chunk_no = 3
     returning id`,
  )
  expect(rows).toHaveLength(1)
  await harness.answer()
  const early = finishNext(harness.pipeline, ROWS, never, PATIENT)
  await expect.poll(async () => (await sizesInTheMaking(harness))[0]).toBeGreaterThan(1_000)
  expect((await sizesInTheMaking(harness))[0]).toBeLessThan(8_000)
  await harness.pipeline.db.pool.query('update tasks set lease_until = null')
  await harness.answer()
  await early
  expect(await statusOf(harness, id)).toBe('completed')
})

test('the result of a batch that stalls is abandoned, and written when the batch has ended', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  await harness.answer(CHUNKS / 2)
  await finishNext(harness.pipeline, ROWS, never, { pollMs: 5, longestMs: 50 })
  expect(await sizesInTheMaking(harness)).toEqual([])
  // Not claimed again: it would stall again.
  await finishNext(harness.pipeline, ROWS, never, { pollMs: 5, longestMs: 50 })
  await harness.answer()
  expect(await finishAll(harness)).toBe(1)
  expect(await statusOf(harness, id)).toBe('completed')
})

test('a batch that is canceled meanwhile is finished by its stage', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  const early = finishNext(harness.pipeline, ROWS, never, PATIENT)
  await harness.answer(CHUNKS / 2)
  await cancelBatch(harness.pipeline, harness.owner, id)
  await early
  expect(await statusOf(harness, id)).toBe('canceling')
  expect(await finishAll(harness)).toBe(1)
  expect(await statusOf(harness, id)).toBe('canceled')
  expect((await fileOf(harness, id)).split('\r\n')).toHaveLength(ROWS + 2)
})

test('tasks of a stopping worker are run by another, and stages of a killed one too', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  const stop = new AbortController()
  const first = finishNext(harness.pipeline, ROWS, stop.signal, PATIENT)
  await expect.poll(async () => await sizesInTheMaking(harness)).toHaveLength(1)
  stop.abort(new Error('stopping'))
  await first
  const second = finishNext(harness.pipeline, ROWS, never, PATIENT)
  await expect.poll(async () => await sizesInTheMaking(harness)).toHaveLength(1)
  // As if its worker were gone for longer than the lease.
  await harness.pipeline.db.pool.query(
    `update batches set lease = lease + 1, lease_until = clock_timestamp() - interval '1 ms'`,
  )
  await second
  await harness.answer()
  expect(await statusOf(harness, id)).toBe('finalizing')
  expect(await finishAll(harness)).toBe(1)
  expect(await statusOf(harness, id)).toBe('completed')
})

test('only large batches are claimed, also while outcomes are being stored', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  await finishNext(harness.pipeline, ROWS + 1, never, PATIENT)
  expect(await statusOf(harness, id)).toBe('running')
  await harness.pipeline.db.kysely.transaction().execute(async (tx) => {
    await tx.selectFrom('batches').select('id').where('id', '=', id).forKeyShare().execute()
    await Promise.all([
      finishNext(harness.pipeline, ROWS, never, PATIENT),
      vi
        .waitFor(async () => expect(await sizesInTheMaking(harness)).toHaveLength(1))
        .then(() => harness.answer()),
    ])
  })
  expect(await statusOf(harness, id)).toBe('completed')
})

test('a batch that may not end yet keeps its hold, even if its result is written', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  const { id } = await harness.read(CONTENT)
  await harness.answer()
  await allowAnyTransition(db)
  await db.pool.query(`update batches set status = 'paused', lease = 77 where id = $1`, [id])
  const stage = { batchId: id, lease: 77, signal: never }
  await finish(harness.pipeline, stage, pagesOfChunks(harness.pipeline, id))
  expect(await statusOf(harness, id)).toBe('paused')
  const { rows } = await db.pool.query('select released, closed_at from credit_holds')
  expect(rows).toEqual([{ released: 0, closed_at: null }])
  expect(await readdir(join(harness.files, 'results'))).toEqual([])
})

test('a chunk that is settled again after it was written is written as it is then', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  const early = finishNext(harness.pipeline, ROWS, never, PATIENT)
  await harness.answer(CHUNKS / 2)
  await expect.poll(async () => (await sizesInTheMaking(harness))[0]).toBeGreaterThan(8_000)
  // As after a failover that lost its first settlement.
  await harness.pipeline.db.pool.query(
    'update chunks set settled_at = clock_timestamp() where no = 0',
  )
  await harness.answer()
  await early
  expect(await statusOf(harness, id)).toBe('finalizing')
  expect(await sizesInTheMaking(harness)).toEqual([])
  expect(await finishAll(harness)).toBe(1)
  expect(await statusOf(harness, id)).toBe('completed')
})
