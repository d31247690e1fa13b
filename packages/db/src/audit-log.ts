import type { Json } from '@plumbline/contract/outcome'
import { queriesOf, type Db, type Tx } from './database.ts'
import { jsonbText } from './jsonb.ts'
import { retryStatement } from './retry.ts'

/** What can be done to an account by its operator. */
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

/** An administrative act (decision 48). No subject, key or address may stand in it: nothing removes it. */
export interface AuditedAct {
  /** Who did it: a user of the machine, or who they said they are. */
  readonly actor: string
  readonly action: AuditAction
  /** Null where it is about no account. */
  readonly accountId: string | null
  /** What was changed, as it was; null for what was not there. */
  readonly before: Json | null
  /** The same as it is now; null for what is gone. */
  readonly after: Json | null
}

/** An act as it stands in the log. */
export interface AuditEntry extends Omit<AuditedAct, 'action'> {
  readonly id: number
  readonly actedAt: Date
  readonly action: string
}

/** Writes an act into the log, in the transaction that does it. */
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

/**
 * Runs work that takes effect once however often it runs in one transaction, again where the connection
 * broke or the server chose it as the loser.
 */
export async function inRetriedTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await retryStatement(() => db.kysely.transaction().execute(work))
}

/** The newest acts, newest first, of one account where one is named. */
export async function listAudit(
  db: Db | Tx,
  wanted: { accountId: string | undefined; limit: number },
): Promise<readonly AuditEntry[]> {
  let query = queriesOf(db)
    .selectFrom('audit_log')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(wanted.limit)
  if (wanted.accountId !== undefined) query = query.where('account_id', '=', wanted.accountId)
  const rows = await query.execute()
  return rows.map(({ id, acted_at, actor, action, account_id, before, after }) => ({
    id,
    actedAt: acted_at,
    actor,
    action,
    accountId: account_id,
    before,
    after,
  }))
}
