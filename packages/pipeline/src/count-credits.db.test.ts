import type { Check } from '@plumbline/contract/products'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { openDatabase } from '@plumbline/db/database'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch, failBatch } from './cancel.ts'
import type { BatchCreditCounter } from './pipeline.ts'
import { reconcile } from './reconcile.ts'
import { runTask } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'

/** A pipeline with two records a chunk, and the calls of its counter since the last read. */
async function openCounted(): Promise<TestPipeline & { counted(): readonly string[] }> {
  const counted: string[] = []
  const note =
    (kind: string): BatchCreditCounter['charged'] =>
    (product, credits) => {
      if (credits > 0) counted.push(`${product} ${kind} ${credits}`)
    }
  const countCredits = { charged: note('charged'), released: note('released') }
  const harness = await openTestPipeline({ limits: { chunkRecords: 2 }, countCredits })
  return { ...harness, counted: () => counted.splice(0).toSorted() }
}

const THREE = 'email\na@b.example\nb@b.example\nc@b.example\n'

test('credits of batches are counted as they are charged and released, by product', async () => {
  await using harness = await openCounted()
  const { pipeline, owner, read, answer, workStages, counted } = harness
  await read(THREE)
  await answer()
  await workStages()
  expect(counted()).toEqual(['email charged 1', 'email charged 2'])
  const { id } = await read('email\nd@b.example\ne@b.example\nf@b.example\n')
  await answer(1)
  await cancelBatch(pipeline, owner, id)
  await workStages()
  expect(counted()).toEqual(['email charged 2', 'email released 1'])
})

test('the charge of a chunk whose commit had no reply is counted', async () => {
  await using harness = await openCounted()
  await using proxy = await openLossyProxy(harness.databaseUrl)
  await using db = openDatabase({ url: proxy.url, poolSize: 2, applicationName: 'lossy' })
  const pipeline = { ...harness.pipeline, db }
  await harness.read('email\na@b.example\nb@b.example\n')
  const slots = { email: 1, phone: 0, ip: 0, domain: 0 }
  const [task] = await leaseTasks(db, { slots, reserve: 0, leaseMs: pipeline.limits.leaseMs })
  if (task === undefined) throw new Error('no task went out')
  using leases = createTaskLeases(pipeline)
  const engineOf = (check: Check) => {
    proxy.loseNextReply('commit')
    return instantEngine<Check>(check)
  }
  await runTask(pipeline, leases, engineOf, task, new AbortController().signal)
  expect(proxy.lostCount()).toBe(1)
  expect(harness.counted()).toEqual(['email charged 2'])
})

test('credits that a failed batch returns are counted once', async () => {
  await using harness = await openCounted()
  const { pipeline, read, answer, counted } = harness
  const { id } = await read(THREE)
  await answer(1)
  expect(counted()).toEqual(['email charged 2'])
  const { rows } = await pipeline.db.pool.query<{ lease: number }>('select lease from batches')
  const fault = { error: 'Internal Server Error', message: 'It cannot be read.' }
  for (const { lease } of [...rows, ...rows])
    await failBatch(pipeline, { batchId: id, lease }, fault)
  expect(counted()).toEqual(['email released 1'])
})

test('a chunk that is settled by a repair is counted, and so is a hold released by a repair', async () => {
  await using harness = await openCounted()
  const { pipeline, read, answer, counted } = harness
  const { pool } = pipeline.db
  await read(`${THREE}d@b.example\n`)
  await allowAnyTransition(pipeline.db)
  await pool.query('delete from tasks where chunk_no = 1')
  await answer()
  expect(counted()).toEqual(['email charged 2'])
  await pool.query(`
    insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes)
    select batch_id, 1, check_kind, indexes, outcomes from parts where chunk_no = 0`)
  await reconcileTwice(harness)
  expect(counted()).toEqual(['email charged 2'])
  await read(THREE)
  await pool.query(`update batches set status = 'canceled' where status = 'running'`)
  await reconcileTwice(harness)
  expect(counted()).toEqual(['email released 3'])
})

test('the hold of a missing batch is counted for the product it was made for', async () => {
  await using harness = await openCounted()
  const { pipeline, read, answer, counted } = harness
  const { pool } = pipeline.db
  await read(THREE)
  await answer(1)
  expect(counted()).toEqual(['email charged 2'])
  await allowAnyTransition(pipeline.db)
  for (const table of ['tasks', 'parts', 'chunks', 'batches'])
    await pool.query(`delete from ${table}`)
  await reconcileTwice(harness)
  expect(counted()).toEqual(['email released 1'])
})

/** Twice, as only inconsistencies found by two searches are repaired. */
async function reconcileTwice({ pipeline }: TestPipeline): Promise<void> {
  await reconcile(pipeline, { graceMs: 0 })
  expect(await reconcile(pipeline, { graceMs: 0 })).toBe(1)
}
