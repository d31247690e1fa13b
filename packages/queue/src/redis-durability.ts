import { withTimeOut } from '@plumbline/concurrency/time-out'
import { Cluster } from 'ioredis'
import type { RedisServer } from './redis.ts'

/** Whether a server keeps what it was given; null for what it does not tell. */
export interface RedisDurability {
  /** What it removes once its memory is full, as `maxmemory-policy` names it. */
  readonly evictionPolicy: string | null
  /** Whether it writes each change into an append-only file, and has it after a restart. */
  readonly isAppendOnly: boolean | null
}

/** Time-out of a reading in milliseconds. */
const READ_MS = 2_000

/**
 * The durability of a server, or of each node of a cluster that is no replica. It is read by `INFO`:
 * managed servers refuse `CONFIG`.
 *
 * @throws if one does not reply in time, or refuses `INFO`
 */
export async function readDurability({
  commands,
}: RedisServer): Promise<readonly RedisDurability[]> {
  const nodes = commands instanceof Cluster ? commands.nodes('master') : [commands]
  const replies = nodes.map(async (node) =>
    durabilityOf(`${await node.info('memory')}\r\n${await node.info('persistence')}`),
  )
  return await withTimeOut(READ_MS, Promise.all(replies))
}

/**
 * The durability in a reply to `INFO`, sections memory and persistence. Source:
 * https://redis.io/docs/latest/commands/info/ (2026-11-25).
 */
export function durabilityOf(info: string): RedisDurability {
  const isAppendOnly = fieldOf(info, 'aof_enabled')
  return {
    evictionPolicy: fieldOf(info, 'maxmemory_policy'),
    isAppendOnly: isAppendOnly === null ? null : isAppendOnly === '1',
  }
}

/** The text in a line `name:text`; null if there is none. */
function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(\\S+)\\s*$`, 'm').exec(info)?.[1] ?? null
}
