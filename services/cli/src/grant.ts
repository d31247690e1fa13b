import { randomUUID } from 'node:crypto'
import { Option } from 'commander'
import { inRetriedTransaction, writeAudit, type AuditAction } from '@plumbline/db/audit-log'
import type { Db, Tx } from '@plumbline/db/database'
import { lockBalance, readRemaining } from '@plumbline/metering/balance'
import { writeJson, type Shell } from './shell.ts'

/** `--ref`: makes a grant idempotent. */
export function refOption(): Option {
  return new Option('--ref <text>', 'payment or ticket it comes from; counts once')
}

/** The idempotency key of a grant: of `--ref`, else new for this run of the command. */
export function sourceRef(ref: string | undefined): string {
  return `cli:${ref ?? randomUUID()}`
}

/** A grant as it is written to the audit log. */
interface AuditedGrant {
  readonly actor: string
  readonly action: Extract<AuditAction, 'account.pack' | 'account.grant'>
  readonly accountId: string
  readonly credits: number
  readonly sourceRef: string
}

/**
 * Makes a grant and writes it to the audit log; false where one of the same `--ref` was made before, and
 * nothing is written.
 */
export async function grantAudited(
  db: Db,
  { actor, action, accountId, credits, sourceRef }: AuditedGrant,
  grant: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  return await inRetriedTransaction(db, async (tx) => {
    const before = (await lockBalance(tx, accountId))?.packs ?? 0
    const granted = await grant(tx)
    if (granted) {
      await writeAudit(tx, {
        actor,
        action,
        accountId,
        before: { packs: before },
        after: { packs: before + credits, granted: credits, ref: sourceRef },
      })
    }
    return granted
  })
}

/** Prints what a grant added, or that it was made before. */
export async function showGrant(
  shell: Shell,
  db: Db,
  id: string,
  outcome: { readonly credits: number; readonly granted: boolean; readonly json: boolean },
): Promise<void> {
  const available = await readRemaining(db, id)
  const credits = outcome.granted ? outcome.credits : 0
  if (outcome.json) {
    writeJson(shell, { account_id: id, granted: credits, available })
    return
  }
  const said = outcome.granted
    ? `${credits} credits were added to ${id}`
    : `Nothing was added to ${id}: this ref counted before`
  shell.write(`${said}; it has ${String(available)}.\n`)
}
