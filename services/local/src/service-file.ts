import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const FILE = 'service.json'

/** Content of `service.json`, in which the command line finds the service of a data directory. */
export interface ServiceFacts {
  readonly pid: number
  readonly url: string
  readonly adminUrl: string
  readonly databaseUrl: string
  readonly redisUrl: string | null
  readonly keyPrefix: string
}

/**
 * Writes `service.json` atomically, readable by its owner only: the database's URL has a password.
 */
export async function writeServiceFile(dataDir: string, facts: ServiceFacts): Promise<void> {
  const path = join(dataDir, FILE)
  await writeFile(`${path}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** Removes `service.json` when the service ends. */
export async function removeServiceFile(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true })
}
