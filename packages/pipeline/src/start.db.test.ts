import { expect, test } from 'vitest'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { makeTasks, startBatch } from './start.ts'

const ROWS = 600
const CONTENT = `email\n${Array.from({ length: ROWS }, (_, no) => `u${no}@example.com\n`).join('')}`

test('a start creates few tasks while it locks the account; the others are created in steps, each once', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { id } = await harness.read(CONTENT, { autoStart: false })
  const countTasks = async (): Promise<unknown> =>
    (await pipeline.db.pool.query('select count(*)::int as tasks from tasks')).rows[0]
  let atCommit: unknown
  await startBatch(pipeline, owner, id, async (tx) => {
    atCommit = await tx
      .selectFrom('tasks')
      .select(tx.fn.countAll<number>().as('tasks'))
      .executeTakeFirst()
  })
  expect(atCommit).toEqual({ tasks: 8 })
  // Two concurrent dispatchers, and one when all tasks exist.
  await Promise.all([makeTasks(pipeline.db), makeTasks(pipeline.db)])
  while (await makeTasks(pipeline.db));
  expect(await countTasks()).toEqual({ tasks: ROWS })
  expect(await makeTasks(pipeline.db)).toBe(false)
  await harness.answer()
  await pipeline.db.pool.query('select 1')
  expect(await countTasks()).toEqual({ tasks: 0 })
})
