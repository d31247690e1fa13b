import { inject } from 'vitest'

/** A place for the queue: every pipeline test runs on each. */
export interface Backend {
  readonly name: 'postgres' | 'redis'
  readonly redisUrl: string | undefined
}

/** The backends of this machine: Redis only where its binary is installed (with CI=true it must be). */
export function backends(): readonly Backend[] {
  const redisUrl = inject('TEST_REDIS_URL')
  return [
    { name: 'postgres', redisUrl: undefined },
    ...(redisUrl === null ? [] : [{ name: 'redis', redisUrl } as const]),
  ]
}
