import { withTimeOut } from '@plumbline/concurrency/time-out'
import { Cluster } from 'ioredis'
import type { RedisServer } from './redis.ts'

/** Time-out of a reading in milliseconds. */
const READ_MS = 1_000

/**
 * The share of its memory that a server uses, from 0 to about 1; of a cluster the share of its
 * fullest node, as each has memory of its own. Null if the server names no limit.
 *
 * @throws if it does not reply in time
 */
export async function readUsedShare({ commands }: RedisServer): Promise<number | null> {
  const nodes = commands instanceof Cluster ? commands.nodes('master') : [commands]
  const replies = Promise.all(nodes.map((node) => node.info('memory')))
  const shares = (await withTimeOut(READ_MS, replies)).flatMap((info) => usedShareOf(info) ?? [])
  return shares.length === 0 ? null : Math.max(...shares)
}

/**
 * The used share in a reply to `INFO memory`: of `maxmemory`, or if that is not set of the
 * machine's memory. Source: https://redis.io/docs/latest/commands/info/ (2026-11-25).
 */
export function usedShareOf(info: string): number | null {
  const limit = fieldOf(info, 'maxmemory') || fieldOf(info, 'total_system_memory')
  return limit === 0 ? null : fieldOf(info, 'used_memory') / limit
}

/** The number in a line `name:number`; 0 if there is none. */
function fieldOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1] ?? 0)
}
