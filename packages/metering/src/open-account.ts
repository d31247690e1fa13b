import { createAccount, type NewAccount } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Db } from '@plumbline/db/database'
import { createAuditedKey } from '@plumbline/db/key-acts'
import { requirePlan } from '@plumbline/db/offers'

/** A new account; its keys cannot be shown again. */
export interface OpenedAccount {
  readonly id: string
  readonly liveKey: string
  /** Null if the plan has no test keys. */
  readonly testKey: string | null
}

/**
 * Creates an account with its keys and writes both to the audit log.
 *
 * @param service the prefix of the installation's keys, for example `svc`
 * @throws Problem `unprocessable` if there is no such plan or time zone
 */
export async function openAccount(
  db: Db,
  { actor, service, ...wanted }: NewAccount & { readonly actor: string; readonly service: string },
): Promise<OpenedAccount> {
  const { test_keys: hasTestKeys } = await requirePlan(db, wanted.plan)
  return await inTransaction(db, async (tx) => {
    const { id, plan, timeZone } = await createAccount(tx, wanted)
    await writeAudit(tx, {
      actor,
      action: 'account.create',
      accountId: id,
      before: null,
      after: { plan, time_zone: timeZone },
    })
    const keyOf = async (mode: 'live' | 'test'): Promise<string> =>
      (await createAuditedKey(tx, { accountId: id, mode, service }, actor)).key
    const liveKey = await keyOf('live')
    return { id, liveKey, testKey: hasTestKeys ? await keyOf('test') : null }
  })
}
