import { getAccount, type Account } from '@plumbline/db/accounts'
import type { KeyMode } from '@plumbline/contract/plans'
import { writeAudit } from '@plumbline/db/audit-log'
import type { Db, Tx } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { Refusal } from './refusal.ts'

/** The account of an id. @throws Refusal where there is none */
export async function requireAccount(db: Db, id: string): Promise<Account> {
  const account = await getAccount(db, id)
  if (account === undefined) {
    throw new Refusal(`There is no account ${id}; "account list" shows those there are.`)
  }
  return account
}

/** Makes a key, which revokes the older one of its mode, and notes who made it. */
export async function createAuditedKey(
  tx: Tx,
  wanted: { accountId: string; mode: KeyMode; service: string },
  actor: string,
): Promise<string> {
  const { accountId, mode } = wanted
  const { key, record, replaced } = await createKey(tx, wanted)
  await writeAudit(tx, {
    actor,
    action: 'key.create',
    accountId,
    before: replaced === null ? null : { mode, key_id: replaced },
    after: { mode, key_id: record.id },
  })
  return key
}
