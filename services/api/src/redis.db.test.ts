import { expect, test } from 'vitest'
import { startRedis } from '@plumbline/testkit/redis'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const body = { email: 'ada@example.com' }

// A server of its own: the names of queues are those of every installation.
test.skipIf(WITHOUT_REDIS)(
  'on Redis calls are answered; when it hangs, calls fail in time and free, and the rest goes on',
  async () => {
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    await using stack = new AsyncDisposableStack()
    stack.defer(() => redis.stop())
    await using stage = await openApiHarness({
      REDIS_URL: redis.url,
      RATE_LIMIT_PER_SECOND: '1',
      RATE_LIMIT_BURST: '9',
      CALL_TIMEOUT_SECONDS: '2',
    })
    const account = await stage.account({ credits: 10 })
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => stage.call('/v1/email', { key: account.live, body })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ headers }) => headers.get('ratelimit')))).toEqual(
      new Set(['"account";r=6;t=3', '"account";r=7;t=2', '"account";r=8;t=1']),
    )
    process.kill(redis.pid, 'SIGSTOP')
    const down = await stage.call('/v1/email', { key: account.live, body })
    expect(down.status).toBe(504)
    expect(down.headers.get('x-credits-charged')).toBe('0')
    expect((await stage.call('/v1/account', { key: account.live })).status).toBe(200)
    expect((await stage.call('/readyz')).status).toBe(503)
    expect(await stage.metering.remaining(account.id)).toBe(7)
    process.kill(redis.pid, 'SIGCONT')
    await expect.poll(async () => (await stage.call('/readyz')).status).toBe(200)
    const back = await stage.call('/v1/email', { key: account.live, body })
    expect(back.status).toBe(200)
  },
)
