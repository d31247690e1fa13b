import { createAccount, listAccounts } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Db } from '@plumbline/db/database'
import { createKey, type KeyRecord } from '@plumbline/db/keys'
import { systemUser } from '@plumbline/runtime/system-user'

type KeyMode = KeyRecord['mode']

/** Keys of a new account; they cannot be shown again. */
export interface FirstAccount {
  readonly accountId: string
  readonly liveKey: string
  readonly testKey: string
}

/**
 * Makes an account with both keys where there is none yet, and notes in the audit log which user of the machine
 * started it; undefined where there is one.
 */
export async function createFirstAccount(
  db: Db,
  service: string,
): Promise<FirstAccount | undefined> {
  if ((await listAccounts(db.kysely, 1)).length > 0) return undefined
  return await inTransaction(db, async (tx) => {
    const { id, plan, timeZone } = await createAccount(tx, {
      email: 'owner@localhost',
      plan: 'pro',
    })
    const actor = systemUser()
    const after = { plan, time_zone: timeZone }
    await writeAudit(tx, { actor, action: 'account.create', accountId: id, before: null, after })
    const keyOf = async (mode: KeyMode): Promise<string> => {
      const { key, record } = await createKey(tx, { accountId: id, mode, service })
      const made = { mode, key_id: record.id }
      await writeAudit(tx, {
        actor,
        action: 'key.create',
        accountId: id,
        before: null,
        after: made,
      })
      return key
    }
    return { accountId: id, liveKey: await keyOf('live'), testKey: await keyOf('test') }
  })
}
