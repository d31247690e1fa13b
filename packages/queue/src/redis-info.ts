import { withTimeOut } from '@plumbline/concurrency/time-out'
import { Cluster } from 'ioredis'
import type { RedisServer } from './redis.ts'

/** A section of the reply to `INFO`. */
type InfoSection = 'memory' | 'persistence'

/**
 * What a server says of itself, or each node of a cluster that is no replica. By `INFO`, as managed
 * servers refuse `CONFIG`. Source: https://redis.io/docs/latest/commands/info/ (2026-11-25).
 *
 * @throws if one does not reply within `limitMs`, or refuses `INFO`
 */
export async function readInfo(
  { commands }: RedisServer,
  sections: readonly InfoSection[],
  limitMs: number,
): Promise<readonly string[]> {
  const nodes = commands instanceof Cluster ? commands.nodes('master') : [commands]
  const replies = nodes.map(async (node) => {
    const texts = await Promise.all(sections.map((section) => node.info(section)))
    return texts.join('\r\n')
  })
  return await withTimeOut(limitMs, Promise.all(replies))
}

/** The text in a line `name:text` of a reply to `INFO`; null if there is none. */
export function infoField(info: string, name: string): string | null {
  return new RegExp(`^${name}:(\\S+)\\s*$`, 'm').exec(info)?.[1] ?? null
}
