import { writeAudit } from '@plumbline/db/audit-log'
import type { Db } from '@plumbline/db/database'
import { changeFingerprint, lockFingerprint, otherPrograms } from '@plumbline/db/installation-key'
import { reencryptColumn, type ReencryptedCounts, type SealedKind } from '@plumbline/db/reencrypt'
import { MAIL_SEALED_AS } from '@plumbline/mail/outbox'
import { NEW_ADDRESS_SEALED_AS } from '@plumbline/people/address'
import { factorName } from '@plumbline/people/factor-check'
import { SIGN_UP_SEALED_AS } from '@plumbline/people/sign-up'
import { erasureName } from '@plumbline/pipeline/erasure'
import type { InstallationKey } from '@plumbline/pipeline/installation-key'
import { webhookSecretName } from '@plumbline/webhooks/secret-box'

/** Associated data of each kind for the row `id`, as the programs that encrypt it use it. */
const NAMES: Readonly<Record<SealedKind, (id: string) => readonly string[]>> = {
  webhookSecret: (id) => [webhookSecretName(id)],
  webhookOldSecret: (id) => [webhookSecretName(id)],
  webhookOlderSecret: (id) => [webhookSecretName(id)],
  secondFactor: (id) => [factorName(id)],
  mail: () => [MAIL_SEALED_AS],
  link: () => [NEW_ADDRESS_SEALED_AS, SIGN_UP_SEALED_AS],
  erasure: (id) => [erasureName(id)],
}

/**
 * Whether the key was `changed` now, or before, as after a run whose caller died before its end.
 */
export type KeyChange =
  | { readonly status: 'changed'; readonly kinds: ReadonlyMap<SealedKind, ReencryptedCounts> }
  | { readonly status: 'was_changed' }

/**
 * Re-encrypts everything that is stored under the old key and records the new one, in one
 * transaction: all or nothing.
 *
 * @param options.actor who does it, for the audit log
 * @param options.isAlone whether no other program can have the database open, so that this is not
 * checked
 * @throws Error if the old key is not the one of this database, or a program has the database open
 */
export async function changeInstallationKey(
  db: Db,
  keys: { readonly old: InstallationKey; readonly next: InstallationKey },
  options: { readonly actor: string; readonly isAlone: boolean },
): Promise<KeyChange> {
  return await db.kysely.transaction().execute(async (tx) => {
    const noted = await lockFingerprint(tx)
    if (noted === keys.next.fingerprint) return { status: 'was_changed' }
    if (noted === undefined) {
      throw new Error(
        'nothing was ever encrypted under a key here; set INSTALLATION_KEY to the new one',
      )
    }
    if (noted !== keys.old.fingerprint) {
      throw new Error('the old key is not the one that this database was last used with')
    }
    const others = options.isAlone ? [] : await otherPrograms(tx)
    if (others.length > 0) {
      throw new Error(`stop the programs that have the database open first: ${others.join(', ')}`)
    }
    const kinds = new Map<SealedKind, ReencryptedCounts>()
    for (const [kind, namesOf] of entriesOf(NAMES)) {
      kinds.set(
        kind,
        await reencryptColumn(tx, kind, (sealed, id) => reencrypted(sealed, namesOf(id), keys)),
      )
    }
    await changeFingerprint(tx, keys.next.fingerprint)
    await writeAudit(tx, {
      actor: options.actor,
      action: 'installation_key.change',
      accountId: null,
      before: { fingerprint: keys.old.fingerprint },
      after: { fingerprint: keys.next.fingerprint },
    })
    return { status: 'changed', kinds }
  })
}

function reencrypted(
  sealed: string,
  names: readonly string[],
  { old, next }: { readonly old: InstallationKey; readonly next: InstallationKey },
): string | undefined {
  for (const name of names) {
    const value = old.decrypt(sealed, name)
    if (value !== undefined) return next.encrypt(value, name)
  }
  return undefined
}

function entriesOf<K extends string, V>(table: Readonly<Record<K, V>>): readonly [K, V][] {
  // Safe because a table of ours has no keys but those of its type.
  return Object.entries(table) as [K, V][]
}
