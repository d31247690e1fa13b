import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What the command line needs to find the service that runs on a data directory. */
export interface ServiceFacts {
  readonly pid: number
  readonly url: string
  readonly adminUrl: string
  readonly databaseUrl: string
  readonly redisUrl: string | null
  readonly keyPrefix: string
}

/** Writes `service.json`, readable by its owner only: it holds the way into the database. */
export async function writeServiceFile(
  dataDir: string,
  facts: ServiceFacts,
): Promise<AsyncDisposable> {
  const path = join(dataDir, 'service.json')
  await writeFile(path, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  return { [Symbol.asyncDispose]: async () => await rm(path, { force: true }) }
}
