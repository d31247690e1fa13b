import { infoField, readInfo } from './redis-info.ts'
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
 * The durability of a server, or of each node of a cluster that is no replica.
 *
 * @throws if one does not reply in time, or refuses `INFO`
 */
export async function readDurability(server: RedisServer): Promise<readonly RedisDurability[]> {
  return (await readInfo(server, ['memory', 'persistence'], READ_MS)).map(durabilityOf)
}

/** The durability in a reply to `INFO`, sections memory and persistence. */
export function durabilityOf(info: string): RedisDurability {
  const isAppendOnly = infoField(info, 'aof_enabled')
  return {
    evictionPolicy: infoField(info, 'maxmemory_policy'),
    isAppendOnly: isAppendOnly === null ? null : isAppendOnly === '1',
  }
}
