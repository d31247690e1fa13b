import { testRedisUrl } from './backends.ts'

/**
 * No redis-server is installed, so there is nothing to test the Redis backend against. The summary
 * of the run says so, and with CI=true the run fails (`global-servers.ts`).
 */
export const WITHOUT_REDIS = testRedisUrl() === null
