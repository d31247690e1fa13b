import { createHash, randomUUID } from 'node:crypto'
import {
  checkLease,
  checkTake,
  grantOf,
  leaseRetryMs,
  type Limiter,
} from '@plumbline/ports/limiter'
import type { RedisServer } from './redis.ts'

/**
 * Token buckets by the generic cell rate algorithm (ITU-T I.371): one number for each key, the time
 * at which the bucket is full again, by the server's clock. Leases are sorted sets of holders.
 */
export function createRedisLimiter({ commands, prefix }: RedisServer): Limiter {
  return {
    async take(key, count, rate) {
      checkTake(count, rate)
      const [granted, waitMs = 0, remaining = 0] = await runScript(
        commands,
        TAKE,
        `${prefix}:rate:${key}`,
        [count, rate.perSecond, rate.burst],
      )
      return grantOf(granted === 1, waitMs, remaining)
    },
    async lease(key, limit, ttlMs) {
      checkLease(limit, ttlMs)
      const name = `${prefix}:lease:${key}`
      const holder = randomUUID()
      const [granted, waitMs = 0] = await runScript(commands, LEASE, name, [holder, limit, ttlMs])
      if (granted !== 1) return { granted: false, retryMs: leaseRetryMs(waitMs) }
      return {
        granted: true,
        renew: async () => (await runScript(commands, RENEW, name, [holder, ttlMs]))[0] === 1,
        release: async () => {
          await commands.zrem(name, holder)
        },
      }
    },
  }
}

/** The server's time in microseconds, used by every script. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
`

/**
 * Microseconds. A bucket that is full later than an empty one would be, by more than this, was
 * written before the clock was set back, or at a much slower rate: it is empty now.
 */
const BEYOND_MICROS = 60_000_000

/** Rounds up, so that no time window grants more than its share. */
const TAKE = scriptOf(`${NOW}
local interval = 1000000 / ARGV[2]
local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
local limit = math.ceil(now + ARGV[3] * interval)
if full > limit + ${BEYOND_MICROS} then
  full = limit
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000) + 1)
end
local following = math.ceil(full + ARGV[1] * interval)
if following > limit then
  local left = math.max(0, math.floor((limit - full) / interval))
  return {0, math.ceil((following - limit) / 1000), left}
end
local ttl = math.ceil((following - now) / 1000) + 1
redis.call('SET', KEYS[1], string.format('%.0f', following), 'PX', ttl)
return {1, 0, math.floor((limit - following) / interval)}
`)

/**
 * A holder that has the lease already is granted it once more: the driver sends a command again
 * whose reply was lost. Leases that end later than twice their time were taken before the clock was
 * set back: their holders renew them, or are gone.
 */
const LEASE = scriptOf(`${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local isHeld = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not isHeld and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  local beyond = string.format('(%.0f', now + 2 * ARGV[3] * 1000)
  for _, holder in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], beyond, '+inf')) do
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3] * 1000), holder)
  end
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, math.ceil((first[2] - now) / 1000)}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3] * 1000), ARGV[1])
local ttl = math.max(redis.call('PTTL', KEYS[1]), math.ceil(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ttl)
return {1, 0}
`)

const RENEW = scriptOf(`${NOW}
local expires = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not expires or tonumber(expires) <= now then return {0} end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2] * 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), math.ceil(ARGV[2])))
return {1}
`)

/** A Lua script that works on one key and returns an array of integers. */
interface Script {
  readonly lua: string
  readonly sha: string
}

/** Prepares a script with its SHA-1 digest, by which Redis finds it. */
function scriptOf(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

/** Runs a script by its digest, and sends its source if the server does not know it yet. */
async function runScript(
  redis: RedisServer['commands'],
  { lua, sha }: Script,
  key: string,
  args: readonly (string | number)[],
): Promise<readonly number[]> {
  try {
    return numbersOf(await redis.evalsha(sha, 1, key, ...args))
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return numbersOf(await redis.eval(lua, 1, key, ...args))
  }
}

function numbersOf(result: unknown): readonly number[] {
  if (Array.isArray(result)) return result.map(Number)
  throw new Error(`a script should return a list of numbers, got ${typeof result}`)
}
