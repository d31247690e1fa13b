import { leaseStages } from '@plumbline/db/batches/stages'
import type { Db } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { losingDb } from '@plumbline/testkit/losing-db'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { runIntake } from './intake-stage.ts'
import { getBatch } from './read.ts'

test('rows of 60 KiB make chunks of a megabyte, so that a worker holds a few megabytes at most', async () => {
  await using harness = await openTestPipeline()
  const cells = `,${'x'.repeat(7_600)}`.repeat(8)
  const rows = Array.from({ length: 100 }, (_, no) => `u${no}@example.com${cells}\n`)
  const view = await harness.read(`email,a,b,c,d,e,f,g,h\n${rows.join('')}`)
  expect(view).toMatchObject({ status: 'running', rows: { total: 100, billable: 100 } })
  const chunks = await harness.pipeline.db.pool.query<{ first_row: number; row_count: number }>(
    'select first_row, row_count from chunks order by no',
  )
  expect(chunks.rows.length).toBeGreaterThan(4)
  let next = 0
  for (const { first_row, row_count } of chunks.rows) {
    expect(first_row).toBe(next)
    expect(row_count).toBeLessThanOrEqual(18)
    next += row_count
  }
  expect(next).toBe(100)
})

test('a worker that stops leaves a file that it is opening, and returns its stage', async () => {
  await using harness = await openTestPipeline()
  const { pool } = harness.pipeline.db
  const { id } = await harness.submit('email\nada@example.com\n')
  const job = { batchId: id, lease: 1 }
  await runIntake(harness.pipeline, job, AbortSignal.abort(new Error('the worker stops')))
  const { rows: previews } = await pool.query('select from batch_previews')
  const { rows: stages } = await pool.query('select status, stage_attempts from batches')
  expect([previews.length, stages]).toEqual([0, [{ status: 'analyzing', stage_attempts: 0 }]])
})

test('rows read before their worker died are not read again, and a later cancel includes all of them', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read('email\nada@example.com\nbob@example.com\n', {
    autoStart: false,
  })
  await allowAnyTransition(pipeline.db)
  // As if the reply to its last statement were lost, and the worker died before it repeated it.
  await pipeline.db.pool.query(`update batches set status = 'analyzing', lease_until = null`)
  await pipeline.storage.remove([`uploads/${id}`])
  const [stage] = await leaseStages(pipeline.db, pipeline.limits.leaseMs)
  const killed = { ...pipeline.db, kysely: brokenTransactions(pipeline.db) }
  if (stage === undefined) throw new Error('no stage is open')
  const never = new AbortController().signal
  await expect(runIntake({ ...pipeline, db: killed }, stage, never)).rejects.toThrow('killed')
  await cancelBatch(pipeline, owner, id)
  await pipeline.db.pool.query('update batches set lease_until = null')
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'canceled',
    rows: { total: 2 },
  })
})

test('a batch whose rows were lost with their commit is read again, and starts with its hold', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit('email\nada@example.com\nbob@example.com\n')
  const db = losingDb(pipeline.db, (transaction) => transaction === 1)
  const never = new AbortController().signal
  const first = runIntake({ ...pipeline, db }, { batchId: id, lease: 1 }, never)
  await expect(first).rejects.toThrow('read again')
  await pipeline.db.pool.query('update batches set lease_until = null')
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'running',
    credits: { estimate: 2, held: 2 },
  })
})

/** A database on which no transaction begins. */
function brokenTransactions({ kysely }: Db): Db['kysely'] {
  return new Proxy(kysely, {
    get: (target, name) => {
      if (name === 'transaction') throw new Error('killed')
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
