import { testRedisUrl } from './backends.ts'

/**
 * Whether redis-server is missing, so that the Redis backend cannot be tested. The summary of the
 * run says so, and with CI=true the run fails (`global-servers.ts`).
 */
export const WITHOUT_REDIS = testRedisUrl() === null
