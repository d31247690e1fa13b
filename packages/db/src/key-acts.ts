import type { KeyMode } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { writeAudit } from './audit-log.ts'
import { inTransaction, type Db, type Tx } from './database.ts'
import { createKey, revokeKey, type KeyRecord } from './keys.ts'

/** A key of an account to create or revoke. */
interface KeyAct {
  readonly accountId: string
  readonly mode: KeyMode
  /**
   * Id of the active key that the acting user knows of, null: none. If another is active, it is not
   * revoked. Undefined: whatever is active is.
   */
  readonly shown?: string | null | undefined
}

/**
 * Creates a key, which revokes the older one of its mode, and writes who created it to the audit
 * log.
 *
 * @returns the key, which cannot be shown again, its record, and the id of the older one
 * @throws Problem as `createKey` does; `conflict` if another key is active than the one shown
 */
export async function createAuditedKey(
  tx: Tx,
  wanted: KeyAct & { readonly service: string },
  actor: string,
): Promise<{ readonly key: string; readonly record: KeyRecord; readonly replaced: string | null }> {
  const { accountId, mode } = wanted
  const made = await createKey(tx, wanted)
  requireShown(wanted, made.replaced)
  await writeAudit(tx, {
    actor,
    action: 'key.create',
    accountId,
    before: made.replaced === null ? null : { mode, key_id: made.replaced },
    after: { mode, key_id: made.record.id },
  })
  return made
}

/**
 * Revokes the active key of a mode and writes who revoked it to the audit log; false if there was
 * none.
 *
 * @throws Problem `conflict` if another key is active than the one shown
 */
export async function revokeAuditedKey(
  db: Db | Tx,
  wanted: KeyAct,
  actor: string,
): Promise<boolean> {
  const { accountId, mode } = wanted
  return await inTransaction(db, async (tx) => {
    const revoked = await revokeKey(tx, { accountId, mode })
    if (revoked === null) return false
    requireShown(wanted, revoked)
    const before = { mode, key_id: revoked }
    await writeAudit(tx, { actor, action: 'key.revoke', accountId, before, after: null })
    return true
  })
}

/** Refuses, and so undoes, an act that revoked another key than the one shown. */
function requireShown({ shown }: KeyAct, revoked: string | null): void {
  if (shown === undefined || shown === revoked) return
  throw new Problem(
    'conflict',
    'The key has changed meanwhile, perhaps in another window, and nothing was done. Look at the keys as they ' +
      'are now, and repeat it if you still want to.',
  )
}
