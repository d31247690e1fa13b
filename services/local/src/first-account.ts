import { createAccount, listAccounts } from '@plumbline/db/accounts'
import type { Db } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'

/** Keys of a new account; they cannot be shown again. */
export interface FirstAccount {
  readonly accountId: string
  readonly liveKey: string
  readonly testKey: string
}

/** Makes an account with both keys where there is none yet; undefined where there is one. */
export async function createFirstAccount(
  db: Db,
  service: string,
): Promise<FirstAccount | undefined> {
  if ((await listAccounts(db.kysely, 1)).length > 0) return undefined
  const account = await createAccount(db.kysely, { email: 'owner@localhost', plan: 'pro' })
  const live = await createKey(db, { accountId: account.id, mode: 'live', service })
  const test = await createKey(db, { accountId: account.id, mode: 'test', service })
  return { accountId: account.id, liveKey: live.key, testKey: test.key }
}
