import { infoField, readInfo } from './redis-info.ts'
import type { RedisServer } from './redis.ts'

/** Time-out of a reading in milliseconds. */
const READ_MS = 1_000

/**
 * The share of its memory that a server uses, from 0 to about 1; of a cluster the share of its
 * fullest node, as each has memory of its own. Null if the server names no limit.
 *
 * @throws if it does not reply in time
 */
export async function readUsedShare(server: RedisServer): Promise<number | null> {
  const replies = await readInfo(server, ['memory'], READ_MS)
  const shares = replies.flatMap((info) => usedShareOf(info) ?? [])
  return shares.length === 0 ? null : Math.max(...shares)
}

/**
 * The used share in a reply to `INFO memory`: of `maxmemory`, or if that is not set of the
 * machine's memory.
 */
export function usedShareOf(info: string): number | null {
  const bytesOf = (name: string): number => Number(infoField(info, name) ?? 0)
  const limit = bytesOf('maxmemory') || bytesOf('total_system_memory')
  return limit === 0 ? null : bytesOf('used_memory') / limit
}
