import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openTestPipeline } from '../../../test/support/pipeline.ts'
import { getBatch } from './read.ts'

const ROWS = 40

function listOf(rows: number): string {
  const addresses = Array.from({ length: rows }, () => `${randomUUID()}@example.com`)
  return `email\n${addresses.join('\n')}\n`
}

test('the time left is never less than until the last waiting task is due', async () => {
  await using place = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = place
  const { pool } = pipeline.db
  const { id } = await place.read(listOf(ROWS))
  const { id: other } = await place.read(listOf(1))
  const eta = async (): Promise<number | null> => (await getBatch(pipeline, owner, id)).eta_seconds
  expect(await eta()).toBeNull()
  await pool.query(
    `update tasks set group_key = 'grey', due_at = clock_timestamp() + chunk_no * interval '1 min'
      where batch_id = $1 and chunk_no in (7, 14)`,
    [id],
  )
  await pool.query(
    `update tasks set due_at = clock_timestamp() + interval '1 day' where batch_id = $1`,
    [other],
  )
  await place.answer()
  expect((await getBatch(pipeline, owner, id)).rows.done).toBe(ROWS - 2)
  const left = await eta()
  expect(left).toBeGreaterThan(13 * 60)
  expect(left).toBeLessThanOrEqual(14 * 60)
  await pool.query("update tasks set due_at = due_at - interval '1 hour' where batch_id = $1", [id])
  expect(await eta()).toBeLessThan(13 * 60)
})

test('when the last task is due is one step in an index', async () => {
  await using place = await openTestPipeline()
  const { rows } = await place.pipeline.db.pool.query<{ 'QUERY PLAN': string }>(
    `explain select due_at from tasks where batch_id = 'x' and due_at is not null
      order by due_at desc limit 1`,
  )
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index .*using tasks_due/)
})
