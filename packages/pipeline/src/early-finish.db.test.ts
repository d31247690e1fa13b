import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { expect, test, vi } from 'vitest'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { finishNext } from './early-finish.ts'
import { runFinish } from './finish.ts'
import { getBatch } from './read.ts'
import { openResults } from './results.ts'

const CHUNKS = 20
const ROWS = CHUNKS * 10
const PATIENT = { lookMs: 5, longestMs: 60_000 }
const never = new AbortController().signal

/** Every third row repeats one of an earlier chunk. */
const LIST = `email,n\n${Array.from({ length: ROWS }, (_, row) => {
  const user = row % 3 === 2 && row > 20 ? Math.floor(row / 2) - 5 : row
  return `user${user}@example.com,${row}\n`
}).join('')}`

async function openPlace(): Promise<TestPipeline> {
  return await openTestPipeline({ limits: { chunkRecords: 10 } })
}

/** Works the finish stages that are open, as a dispatcher and a worker would. */
async function finishAll({ pipeline }: TestPipeline): Promise<number> {
  await closeFinishedBatches(pipeline.db.kysely)
  const stages = await leaseStages(pipeline.db.kysely, pipeline.limits.leaseMs)
  for (const stage of stages) await runFinish(pipeline, stage, never)
  return stages.length
}

async function statusOf(place: TestPipeline, id: string): Promise<string> {
  return (await getBatch(place.pipeline, place.owner, id)).status
}

async function fileOf(place: TestPipeline, id: string): Promise<string> {
  const request = { format: 'csv', only: [], raw: false, after: 0 } as const
  const { stream, bytes } = await openResults(place.pipeline, place.owner, id, request)
  const content = await text(stream)
  expect(bytes).toBe(Buffer.byteLength(content))
  return content
}

/** Bytes of results in the making, a list each. */
async function sizesInTheMaking({ pipeline }: TestPipeline): Promise<number[]> {
  const names = await readdir(pipeline.scratchDir)
  const files = names.filter((name) => name.startsWith('result-') && !name.endsWith('-repeats'))
  return await Promise.all(
    files.map(async (name) => (await stat(join(pipeline.scratchDir, name))).size),
  )
}

test('a result grows while its list runs, and is the one that is written at the end', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  const early = finishNext(place.pipeline, ROWS, never, PATIENT)
  await place.answer(CHUNKS / 2)
  await vi.waitFor(async () => expect((await sizesInTheMaking(place))[0]).toBeGreaterThan(5_000))
  expect(await statusOf(place, id)).toBe('running')
  await place.answer()
  await early
  expect(await getBatch(place.pipeline, place.owner, id)).toMatchObject({
    status: 'completed',
    credits: { held: 0 },
    rows: { total: ROWS },
  })
  expect(await finishAll(place)).toBe(0)

  const other = await place.read(LIST)
  await place.answer()
  expect(await finishAll(place)).toBe(1)
  expect(await fileOf(place, id)).toBe(await fileOf(place, other.id))
  expect(await sizesInTheMaking(place)).toEqual([])
})

test('it waits at a chunk that is not settled, whatever is settled behind it', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  const { rows } = await place.pipeline.db.pool.query(
    `update tasks set lease_until = clock_timestamp() + interval '1 hour' where chunk_no = 3
     returning id`,
  )
  expect(rows).toHaveLength(1)
  await place.answer()
  const early = finishNext(place.pipeline, ROWS, never, PATIENT)
  await vi.waitFor(async () => expect((await sizesInTheMaking(place))[0]).toBeGreaterThan(1_000))
  expect((await sizesInTheMaking(place))[0]).toBeLessThan(5_000)
  await place.pipeline.db.pool.query('update tasks set lease_until = null')
  await place.answer()
  await early
  expect(await statusOf(place, id)).toBe('completed')
})

test('a list that stalls is let go, and finished when it has ended', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  await place.answer(CHUNKS / 2)
  await finishNext(place.pipeline, ROWS, never, { lookMs: 5, longestMs: 50 })
  expect(await sizesInTheMaking(place)).toEqual([])
  // Not taken again: it would stall again.
  await finishNext(place.pipeline, ROWS, never, { lookMs: 5, longestMs: 50 })
  await place.answer()
  expect(await finishAll(place)).toBe(1)
  expect(await statusOf(place, id)).toBe('completed')
})

test('a list that is canceled meanwhile is finished by its stage', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  const early = finishNext(place.pipeline, ROWS, never, PATIENT)
  await place.answer(CHUNKS / 2)
  await cancelBatch(place.pipeline, place.owner, id)
  await early
  expect(await statusOf(place, id)).toBe('canceling')
  expect(await finishAll(place)).toBe(1)
  expect(await statusOf(place, id)).toBe('canceled')
  expect((await fileOf(place, id)).split('\r\n')).toHaveLength(ROWS + 2)
})

test('what a stopping worker breaks off another begins anew; what a killed one had, the stage', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  const stop = new AbortController()
  const first = finishNext(place.pipeline, ROWS, stop.signal, PATIENT)
  await vi.waitFor(async () => expect(await sizesInTheMaking(place)).toHaveLength(1))
  stop.abort(new Error('stopping'))
  await first
  const second = finishNext(place.pipeline, ROWS, never, PATIENT)
  await vi.waitFor(async () => expect(await sizesInTheMaking(place)).toHaveLength(1))
  // As if its worker were gone for longer than the lease.
  await place.pipeline.db.pool.query(
    `update batches set lease = lease + 1, lease_until = clock_timestamp() - interval '1 ms'`,
  )
  await second
  await place.answer()
  expect(await statusOf(place, id)).toBe('running')
  expect(await finishAll(place)).toBe(1)
  expect(await statusOf(place, id)).toBe('completed')
})

test('only long lists are taken, also while outcomes are being stored', async () => {
  await using place = await openPlace()
  const { id } = await place.read(LIST)
  await place.answer()
  await finishNext(place.pipeline, ROWS + 1, never, PATIENT)
  expect(await statusOf(place, id)).toBe('running')
  await place.pipeline.db.kysely.transaction().execute(async (tx) => {
    await tx.selectFrom('batches').select('id').where('id', '=', id).forKeyShare().execute()
    await finishNext(place.pipeline, ROWS, never, PATIENT)
  })
  expect(await statusOf(place, id)).toBe('completed')
})
