import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createAccount, listAccounts } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Db } from '@plumbline/db/database'
import { createAuditedKey } from '@plumbline/db/key-acts'
import { firstUnownedAccount } from '@plumbline/db/people/members'
import { hasUsers } from '@plumbline/db/people/users'
import { newWelcomeCode } from '@plumbline/people/welcome'
import { systemUser } from '@plumbline/runtime/system-user'

/** Keys of a new account; they cannot be shown again. */
export interface FirstAccount {
  readonly accountId: string
  readonly liveKey: string
  readonly testKey: string
}

/**
 * Creates an account with both keys if there is none yet, and writes to the audit log which user of
 * the machine started the service; undefined if there is an account.
 *
 * @param keep stores the keys before the account exists: on a full disk there is none, and the next
 * start makes it
 */
export async function createFirstAccount(
  db: Db,
  service: string,
  keep: (account: FirstAccount) => Promise<unknown>,
): Promise<FirstAccount | undefined> {
  if ((await listAccounts(db, 1)).length > 0) return undefined
  return await inTransaction(db, async (tx) => {
    const { id, plan, timeZone } = await createAccount(tx, {
      email: 'owner@localhost',
      plan: 'pro',
    })
    const actor = systemUser()
    const after = { plan, time_zone: timeZone }
    await writeAudit(tx, { actor, action: 'account.create', accountId: id, before: null, after })
    const keyOf = async (mode: 'live' | 'test'): Promise<string> =>
      (await createAuditedKey(tx, { accountId: id, mode, service }, actor)).key
    const liveKey = await keyOf('live')
    const account = { accountId: id, liveKey, testKey: await keyOf('test') }
    await keep(account)
    return account
  })
}

/**
 * The secret of a link by which the first user takes over the first account; undefined if there is
 * a user.
 */
export async function createWelcomeCode(db: Db): Promise<string | undefined> {
  if (await hasUsers(db)) return undefined
  const accountId = await firstUnownedAccount(db)
  return accountId === undefined ? undefined : await newWelcomeCode(db, accountId)
}

/**
 * Writes the keys of the first account to `first-keys.json`, readable by its owner only: printed
 * without a terminal, they would end up in logs. The first user's link is added once it is known.
 *
 * @returns the path of the file
 */
export async function writeFirstKeys(
  dataDir: string,
  account: FirstAccount,
  welcomeUrl?: string,
): Promise<string> {
  const path = join(dataDir, 'first-keys.json')
  // An existing file would keep its mode, which may let others read it.
  const beside = `${path}.${process.pid}`
  const { accountId, liveKey, testKey } = account
  const keys = {
    account_id: accountId,
    live_key: liveKey,
    test_key: testKey,
    ...(welcomeUrl === undefined ? {} : { welcome_url: welcomeUrl }),
  }
  await writeFile(beside, `${JSON.stringify(keys, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  await rename(beside, path)
  return path
}
