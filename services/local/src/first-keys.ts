import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FirstAccount } from './first-account.ts'

/**
 * Writes the keys of the first account to `first-keys.json`, readable by its owner only: what is not printed on a
 * terminal ends in the logs of others.
 * @returns the path of the file
 */
export async function writeFirstKeys(dataDir: string, account: FirstAccount): Promise<string> {
  const path = join(dataDir, 'first-keys.json')
  // A file that is there may be readable by others, and stays so where it is written to.
  const beside = `${path}.${process.pid}`
  const { accountId, liveKey, testKey } = account
  const keys = { account_id: accountId, live_key: liveKey, test_key: testKey }
  await writeFile(beside, `${JSON.stringify(keys, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  await rename(beside, path)
  return path
}
