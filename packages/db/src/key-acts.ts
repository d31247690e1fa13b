import type { KeyMode } from '@plumbline/contract/plans'
import { writeAudit } from './audit-log.ts'
import { inTransaction, type Db, type Tx } from './database.ts'
import { createKey, revokeActive, type KeyRecord } from './keys.ts'

/**
 * Creates a key, which revokes the older one of its mode, and writes who created it to the audit
 * log.
 *
 * @returns the key, which cannot be shown again, its record, and the id of the older one
 * @throws Problem as `createKey` does
 */
export async function createAuditedKey(
  tx: Tx,
  wanted: { accountId: string; mode: KeyMode; service: string },
  actor: string,
): Promise<{ readonly key: string; readonly record: KeyRecord; readonly replaced: string | null }> {
  const { accountId, mode } = wanted
  const made = await createKey(tx, wanted)
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
 */
export async function revokeAuditedKey(
  db: Db | Tx,
  { accountId, mode }: { readonly accountId: string; readonly mode: KeyMode },
  actor: string,
): Promise<boolean> {
  return await inTransaction(db, async (tx) => {
    const revoked = await revokeActive(tx, { accountId, mode })
    if (revoked === null) return false
    const before = { mode, key_id: revoked }
    await writeAudit(tx, { actor, action: 'key.revoke', accountId, before, after: null })
    return true
  })
}
