import { createHash } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'

/** A Lua script that works on one key and answers a list of whole numbers. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

/** Names a script by its digest, as Redis does. */
export function scriptOf(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

/** Runs a script by name, and hands it over where the server does not know it yet. */
export async function runScript(
  redis: Redis | Cluster,
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

function numbersOf(answer: unknown): readonly number[] {
  if (Array.isArray(answer)) return answer.map(Number)
  throw new Error(`a script should answer a list of numbers, met ${typeof answer}`)
}
