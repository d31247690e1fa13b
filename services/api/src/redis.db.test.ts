import { expect, test } from 'vitest'
import { startRedis } from '@plumbline/testkit/redis'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const body = { email: 'ada@example.com' }

// A server of its own: the names of queues are those of every installation.
test.skipIf(WITHOUT_REDIS)(
  'calls are answered on Redis; when it hangs, lookups are refused quickly and free, and other calls work',
  async () => {
    const redis = await startRedis({ maxMemory: '64mb' })
    if (redis === null) throw new Error('redis-server is not installed')
    await using stack = new AsyncDisposableStack()
    stack.defer(() => redis.stop())
    await using stage = await openApiHarness({
      REDIS_URL: redis.url,
      RATE_LIMIT_PER_SECOND: '1',
      RATE_LIMIT_BURST: '9',
    })
    // Disposed of first, so that nothing that closes waits for a server that hangs.
    using _ = { [Symbol.dispose]: () => void process.kill(redis.pid, 'SIGCONT') }
    const account = await stage.account({ credits: 10 })
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => stage.call('/v1/email', { key: account.live, body })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ headers }) => headers.get('ratelimit')))).toEqual(
      new Set(['"account";r=6;t=3', '"account";r=7;t=2', '"account";r=8;t=1']),
    )
    const metrics = async (): Promise<string> =>
      await (await fetch(`${stage.adminUrl}/metrics`)).text()
    expect(await metrics()).toMatch(/^redis_memory_used_ratio 0\.\d+$/m)
    process.kill(redis.pid, 'SIGSTOP')
    for (let call = 0; call < 3; call += 1) {
      const beganMs = performance.now()
      const down = await stage.call('/v1/email', { key: account.live, body })
      expect(performance.now() - beganMs).toBeLessThan(10_000)
      expect(down.status).toBe(503)
      expect(down.headers.get('retry-after')).toBe('2')
      expect(down.headers.get('x-credits-charged')).toBe('0')
    }
    const { rows } = await stage.db.pool.query<{ count: number }>(
      'select count(*)::int as count from credit_entries where op_key like $1',
      ['call:%'],
    )
    // Only the first was debited, and refunded, before it was known that Redis hangs.
    expect(rows[0]?.count).toBeLessThanOrEqual(3 + 2)
    expect((await stage.call('/v1/account', { key: account.live })).status).toBe(200)
    expect((await stage.call('/readyz')).status).toBe(503)
    expect(await stage.metering.remaining(account.id)).toBe(7)
    process.kill(redis.pid, 'SIGCONT')
    await expect.poll(async () => (await stage.call('/readyz')).status).toBe(200)
    await expect
      .poll(async () => (await stage.call('/v1/email', { key: account.live, body })).status, {
        interval: 500,
      })
      .toBe(200)
  },
)
