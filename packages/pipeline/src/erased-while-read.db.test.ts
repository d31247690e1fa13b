import { text } from 'node:stream/consumers'
import type { Db } from '@plumbline/db/database'
import { blockChange } from '@plumbline/testkit/block-change'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { completed } from './completed-batch-fixture.ts'
import { deleteBatch } from './erase.ts'
import { runIntake } from './intake-stage.ts'
import { rescoreBatch } from './rescore.ts'
import { openResults } from './results.ts'

test('a download whose batch is deleted between chunks and their outcomes does not end as a whole', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const id = await completed(harness, 'email\nada@example.com\n')
  const db = afterQuery(pipeline.db, 'chunks.page', () => deleteBatch(pipeline, owner, id))
  const wanted = { format: 'ndjson', only: [], raw: false, after: 0 } as const
  const { stream } = await openResults({ ...pipeline, db }, owner, id, wanted)
  await expect(text(stream)).rejects.toThrow('ended')
})

test('a batch that is deleted while its outcomes are copied to be scored again is copied whole', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const id = await completed(harness, 'ip\n192.0.2.1\n', { product: 'ip' })
  const made = await rescoreBatch(pipeline, owner, id, {})
  await using insert = await blockChange(harness.databaseUrl, { table: 'chunks', change: 'insert' })
  const { signal } = new AbortController()
  const copying = runIntake(pipeline, { batchId: made.id, lease: 1 }, signal)
  await insert.reached()
  await deleteBatch(pipeline, owner, id)
  await insert.release()
  await copying
  const { rows } = await pipeline.db.pool.query(
    `select from chunks c where batch_id = $1 and not exists (select from parts p
       where p.batch_id = c.batch_id and p.chunk_no = c.no)`,
    [made.id],
  )
  expect(rows).toEqual([])
})

/** A query in the form in which `Db` sends it. */
interface NamedQuery {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

/** The database, with work that is done once, after the first query of a name. */
function afterQuery(db: Db, name: string, work: () => Promise<void>): Db {
  let isDone = false
  const query = async (asked: NamedQuery): Promise<unknown> => {
    const result = await db.pool.query(asked)
    if (asked.name === name && !isDone) {
      isDone = true
      await work()
    }
    return result
  }
  const pool = new Proxy(db.pool, {
    get: (target, key): unknown => (key === 'query' ? query : Reflect.get(target, key)),
  })
  return { ...db, pool }
}
