import { randomBytes } from 'node:crypto'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { depth } from '@plumbline/queue/jobs'
import { expect, test } from 'vitest'
import { allowAnyMove } from '@plumbline/testkit/any-move'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { dispatchOnce } from './dispatch.ts'
import { testRedisUrl } from '@plumbline/testkit/backends'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const redisUrl = testRedisUrl()

test.skipIf(WITHOUT_REDIS)(
  'tasks of a new database go out at once, whatever the queue still holds of an old one',
  async () => {
    const redis = { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` }
    for (const waiting of [1, 2]) {
      await using harness = await openTestPipeline({ redis })
      const { pipeline } = harness
      expect(await harness.read('email\nada@example.com\n')).toMatchObject({ status: 'running' })
      await dispatchOnce(pipeline)
      expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting })
    }
  },
)

test.each([
  {
    name: 'a batch that is being canceled',
    before: 'select',
    held: 'delete from tasks where batch_id = $1',
  },
  {
    name: 'a task that hangs until its lease is over',
    before: `update tasks set lease_until = now() - interval '1 s'`,
    held: 'delete from tasks where batch_id = $1',
  },
  {
    name: 'a task that puts more into a group',
    before: `
      with made as (insert into task_groups values ('email', 'mx:a', now()))
      update tasks set group_key = 'mx:a', due_at = now()`,
    held: `
      update task_groups g set next_at = now() from tasks t
      where t.batch_id = $1 and t.group_key = g.group_key`,
  },
])('$name does not hold up other batches', async ({ before, held }) => {
  await using harness = await openTestPipeline()
  const { pool } = harness.pipeline.db
  const { id } = await harness.read('email\nada@example.com\n')
  await allowAnyMove(harness.pipeline.db)
  await pool.query(before)
  const other = await harness.read('email\ngrace@example.com\n')
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(held, [id])
    const slots = { email: 10, phone: 0, ip: 0, domain: 0 }
    const leased = await leaseTasks(harness.pipeline.db, { slots, reserve: 0, leaseMs: 60_000 })
    expect(leased.map(({ batchId }) => batchId)).toContain(other.id)
  } finally {
    client.release(true)
  }
})
