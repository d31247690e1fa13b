import type { Json } from '@plumbline/contract/outcome'
import { queriesOf, type Db, type Tx } from './database.ts'
import { jsonbText } from './jsonb.ts'

/** Actions of an operator on an account. */
export type AuditAction =
  | 'account.create'
  | 'account.plan'
  | 'account.pack'
  | 'account.grant'
  | 'account.hand_over'
  | 'account.settings'
  | 'account.limits'
  | 'account.spending'
  | 'account.suspend'
  | 'account.resume'
  | 'account.close'
  | 'installation_key.change'
  | 'key.create'
  | 'key.revoke'
  | 'member.add'
  | 'member.invite'
  | 'member.remove'
  | 'member.role'
  | 'user.link'
  | 'user.operator'
  | 'user.sign_out'

/**
 * An administrative act (decision 48). It must not contain a subject, key or address: it is never
 * deleted.
 */
export interface AuditedAct {
  /** Who did it: an operating system user, or the name that the caller gave. */
  readonly actor: string
  readonly action: AuditAction
  /** The account that it is about; null if it concerns none. */
  readonly accountId: string | null
  /** The state before the change; null for something that did not exist. */
  readonly before: Json | null
  /** The state after the change; null for something that was removed. */
  readonly after: Json | null
}

/** An act as stored in the log. */
export interface AuditEntry extends Omit<AuditedAct, 'action'> {
  readonly id: number
  readonly actedAt: Date
  readonly action: string
}

/** Appends an act to the log, in the transaction that does it. */
export async function writeAudit(tx: Tx, act: AuditedAct): Promise<void> {
  await tx
    .insertInto('audit_log')
    .values({
      actor: act.actor,
      action: act.action,
      account_id: act.accountId,
      before: act.before === null ? null : jsonbText(act.before),
      after: act.after === null ? null : jsonbText(act.after),
    })
    .execute()
}

/** The newest acts first, of one account if one is given. */
export async function listAudit(
  db: Db | Tx,
  wanted: { accountId: string | undefined; limit: number },
): Promise<readonly AuditEntry[]> {
  let query = queriesOf(db)
    .selectFrom('audit_log')
    .select(['id', 'acted_at as actedAt', 'actor', 'action', 'account_id as accountId'])
    .select(['before', 'after'])
    .orderBy('id', 'desc')
    .limit(wanted.limit)
  if (wanted.accountId !== undefined) query = query.where('account_id', '=', wanted.accountId)
  return await query.execute()
}
