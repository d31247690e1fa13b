import { randomBytes } from 'node:crypto'
import { depth } from '@plumbline/queue/jobs'
import { expect, inject, test } from 'vitest'
import { openTestPipeline } from '../../../test/support/pipeline.ts'
import { dispatchOnce } from './dispatch.ts'
import { WITHOUT_REDIS } from '../../../test/support/without-redis.ts'

const redisUrl = inject('TEST_REDIS_URL')

test.skipIf(WITHOUT_REDIS)(
  'tasks of a new database go out at once, whatever the queue still holds of an old one',
  async () => {
    const redis = { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` }
    for (const waiting of [1, 2]) {
      await using place = await openTestPipeline({ redis })
      const { pipeline } = place
      expect(await place.read('email\nada@example.com\n')).toMatchObject({ status: 'running' })
      await dispatchOnce(pipeline)
      expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting })
    }
  },
)
