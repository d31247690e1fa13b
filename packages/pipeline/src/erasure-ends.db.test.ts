import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { claimRunning, closeFinishedBatches, renewStage } from '@plumbline/db/batches/stages'
import { dyingDb } from '@plumbline/testkit/dying-db'
import { factStores, openErasureHarness, type ErasureHarness } from '@plumbline/testkit/erasures'
import { expect, test } from 'vitest'
import { readErasure } from './erasure.ts'
import { getBatch } from './read.ts'
import { resultKey } from './result-keys.ts'
import { workErasure } from './work-erasures.ts'

// A receipt states that nothing is left, including files that others were about to remove or had
// begun to write.

const NEVER = new AbortController().signal
const MARK = 'ada@gone.example'
const LIST = `email,phone,ip\nADA@gone.example,+442079460123,192.0.2.77\nbob@kept.example,,\n`
const TARGET = { email: MARK, phone: '+442079460123', ip: '192.0.2.77' }
const MARKS = [MARK, '+442079460123', '192.0.2.77']

async function stateOf({ pipeline, owner }: ErasureHarness, id: string): Promise<string> {
  return (await readErasure(pipeline, owner, id)).status
}

test('if killed at any statement, also between the deletion and its count, each fact is counted once', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  await harness.runBatch(LIST)
  const entry = (key: string) => ({ key, value: 1, ttlMs: 3_600_000 })
  // In two notations, as checked and as sent: two facts.
  const emails = ['ADA@gone.example', MARK].map((email) => entry(`email ${email}`))
  await facts.memory.set([...emails, entry('ip 192.0.2.77'), entry('email bob@kept.example')])
  await facts.durable.set([entry('phone +442079460123')])
  const { id } = await harness.begin(TARGET)
  for (let at = 1; (await stateOf(harness, id)) === 'running'; at += 1) {
    const db = dyingDb(pipeline.db, at)
    await workErasure({ pipeline: { ...pipeline, db }, facts: factStores(db) }, NEVER).catch(
      () => {},
    )
    await pipeline.db.pool.query("update erasures set lease_until = '-infinity'")
  }
  expect(await readErasure(pipeline, owner, id)).toMatchObject({
    erased: { batches: 1, rows: 1, uploads: 1, results: 1, facts: 3, purchases: 1 },
  })
  expect(await facts.memory.get(['email bob@kept.example'])).toEqual([1])
  expect(await harness.traces(MARKS)).toEqual([])
})

test('an erasure ends only when the store has removed the files that are no longer referenced', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  await harness.runBatch(LIST)
  const { id } = await harness.begin(TARGET)
  const storage = {
    ...pipeline.storage,
    remove: async () => {
      throw new Error('the store is away')
    },
  }
  await harness.work({ ...pipeline, storage })
  expect(await stateOf(harness, id)).toBe('running')
  expect(await harness.traces(MARKS)).not.toEqual([])
  await harness.work()
  expect(await stateOf(harness, id)).toBe('completed')
  expect(await harness.traces(MARKS)).toEqual([])
})

test('a file of another account that cannot be removed does not delay an erasure', async () => {
  await using harness = await openErasureHarness()
  await harness.pipeline.db.pool.query(
    `insert into file_removals (key, account_id, next_at)
     values ('uploads/bat_other', 'acc_other', clock_timestamp() + interval '1 hour'),
       ('uploads/bat_older', null, clock_timestamp() + interval '1 hour')`,
  )
  const { id } = await harness.begin(TARGET)
  await harness.work()
  expect(await stateOf(harness, id)).toBe('completed')
})

test('a batch that is being deleted is gone before the erasure ends', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  const batch = await harness.runBatch(LIST)
  await pipeline.db.pool.query("update batches set erasing = 'all'")
  const { id } = await harness.begin(TARGET)
  await harness.work()
  expect(await stateOf(harness, id)).toBe('completed')
  const { rows } = await pipeline.db.pool.query('select from chunks where batch_id = $1', [batch])
  expect(rows).toEqual([])
})

test('a result that is being written is awaited, and files that a killed attempt left of it are removed', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner } = harness
  const batch = await harness.read(LIST, { product: 'contact-intel' })
  await harness.answer()
  await closeFinishedBatches(pipeline.db)
  // Stored by an attempt that was killed before it could record the file.
  const path = join(pipeline.scratchDir, 'left')
  await writeFile(path, LIST)
  await pipeline.storage.put(resultKey(batch.id, 1), path)
  const { id } = await harness.begin(TARGET)
  await harness.work()
  expect(await stateOf(harness, id)).toBe('running')
  await harness.workStages()
  expect(await getBatch(pipeline, owner, batch.id)).toMatchObject({ status: 'completed' })
  await harness.work()
  expect(await stateOf(harness, id)).toBe('completed')
  expect(await harness.traces(MARKS)).toEqual([])
})

test('a worker that writes the result of a running batch early gives up when rows are blanked', async () => {
  await using harness = await openErasureHarness()
  const { pipeline } = harness
  await harness.read(LIST, { product: 'contact-intel' })
  const early = await claimRunning(pipeline.db, 1, 60_000)
  if (early === undefined) throw new Error('no batch is running')
  expect(await renewStage(pipeline.db, early, 60_000)).toBe(true)
  await harness.begin({ ip: '192.0.2.78' })
  await harness.work()
  expect(await renewStage(pipeline.db, early, 60_000)).toBe(true)
  await harness.begin(TARGET)
  await harness.work()
  expect(await renewStage(pipeline.db, early, 60_000)).toBe(false)
})
