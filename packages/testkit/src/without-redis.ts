import { inject } from 'vitest'

/**
 * No redis-server is installed, so there is nothing to test the Redis backend against. The summary of
 * the run says so, and with CI=true the run fails (`global-servers.ts`).
 */
export const WITHOUT_REDIS = inject('TEST_REDIS_URL') === null
