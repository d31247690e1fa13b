import { inject } from 'vitest'

/** A backend of the queue. */
export interface Backend {
  readonly name: 'postgres' | 'redis'
  readonly redisUrl: string | undefined
}

/**
 * The backends on this machine, for tests in which the queue takes part: calls, batches from upload
 * to result, crashes, deliveries, erasures. For others see `oneBackend`. Redis only if its binary is
 * installed (with CI=true it must be).
 */
export function backends(): readonly Backend[] {
  const redisUrl = testRedisUrl()
  return [
    { name: 'postgres', redisUrl: undefined },
    ...(redisUrl === null ? [] : [{ name: 'redis', redisUrl } as const]),
  ]
}

/**
 * URL of the Redis server of this test worker, which no concurrent test file uses; null if Redis is not
 * installed.
 */
export function testRedisUrl(): string | null {
  const urls = inject('TEST_REDIS_URLS')
  // A worker's number rises from 1 to as many as run at once.
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 1)
  return urls.length === 0 ? null : (urls[(worker - 1) % urls.length] ?? null)
}
