import type { AccountState, OwnLimits, Plan } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { revokeAccess, setAccountState } from '@plumbline/db/account-state'
import { writeAudit } from '@plumbline/db/audit-log'
import type { Db, Tx } from '@plumbline/db/database'
import { readOwnLimits, setOwnLimits } from '@plumbline/db/limits'
import { requirePack, requirePlan } from '@plumbline/db/offers'
import { inRetriedTransaction } from '@plumbline/db/retry'
import { lockBalance } from './balance.ts'
import { changePlan, grantGoodwill, grantPack, type PlanChange } from './grant.ts'

/** An administrative act: its author and the account. */
export interface Act {
  /** For the audit log: an operating system user, an operator, or a name that was given. */
  readonly actor: string
  readonly accountId: string
}

/** Result of a grant. */
export interface Granted {
  /** False if a grant with the same source was made before; nothing is written then. */
  readonly granted: boolean
  readonly credits: number
}

/**
 * Moves an account to a plan, and writes it to the audit log.
 *
 * @throws Problem `unprocessable` if there is no such plan
 */
export async function moveToPlan(
  db: Db,
  { actor, accountId, plan }: Act & { readonly plan: Plan },
): Promise<PlanChange> {
  await requirePlan(db, plan)
  return await inRetriedTransaction(db, async (tx) => {
    const before = await lockBalance(tx, accountId)
    const { plan: now, nextPlan, granted } = await changePlan(tx, accountId, plan)
    await writeAudit(tx, {
      actor,
      action: 'account.plan',
      accountId,
      before: { plan: before?.plan ?? null, next_plan: before?.nextPlan ?? null },
      after: { plan: now, next_plan: nextPlan, granted },
    })
    return { plan: now, nextPlan, granted }
  })
}

/**
 * Adds a pack and writes it to the audit log; takes effect once for each source.
 *
 * @throws Problem `unprocessable` if there is no such pack
 */
export async function givePack(
  db: Db,
  act: Act & { readonly pack: string; readonly sourceRef: string },
): Promise<Granted> {
  const { credits } = await requirePack(db, act.pack)
  const granted = await grantAudited(db, { ...act, action: 'account.pack', credits }, (tx) =>
    grantPack(tx, act.accountId, act.pack, act.sourceRef),
  )
  return { granted, credits }
}

/** Adds goodwill credits and writes it to the audit log; takes effect once for each source. */
export async function giveCredits(
  db: Db,
  act: Act & { readonly credits: number; readonly sourceRef: string },
): Promise<Granted> {
  const { credits } = act
  const granted = await grantAudited(db, { ...act, action: 'account.grant' }, (tx) =>
    grantGoodwill(tx, act.accountId, credits, act.sourceRef),
  )
  return { granted, credits }
}

async function grantAudited(
  db: Db,
  {
    actor,
    action,
    accountId,
    credits,
    sourceRef,
  }: Act & {
    readonly action: 'account.pack' | 'account.grant'
    readonly credits: number
    readonly sourceRef: string
  },
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

/**
 * Sets limits of one account and writes it to the audit log; null returns to the limit of the plan.
 */
export async function limitAccount(
  db: Db,
  { actor, accountId, limits }: Act & { readonly limits: Partial<OwnLimits> },
): Promise<OwnLimits> {
  return await inRetriedTransaction(db, async (tx) => {
    await lockBalance(tx, accountId)
    const before = await readOwnLimits(tx, accountId)
    await setOwnLimits(tx, accountId, limits)
    const after = await readOwnLimits(tx, accountId)
    const act = { actor, action: 'account.limits', accountId } as const
    await writeAudit(tx, { ...act, before: { ...before }, after: { ...after } })
    return after
  })
}

/**
 * Suspends an account: its calls are refused with the reason, and no task of its batches is
 * dispatched.
 *
 * @throws Problem `conflict` if it is closed
 */
export async function suspendAccount(
  db: Db,
  act: Act & { readonly reason: string | null },
): Promise<void> {
  await moveAudited(db, act, { action: 'account.suspend', status: 'suspended', reason: act.reason })
}

/**
 * Lifts a suspension: batches continue.
 *
 * @throws Problem `conflict` if it is closed
 */
export async function resumeAccount(db: Db, act: Act): Promise<void> {
  await moveAudited(db, act, { action: 'account.resume', status: 'active', reason: null })
}

/**
 * Closes an account for good: keys and sessions end with the commit, its data are erased by the
 * sweeps.
 *
 * @param check run under the account's lock, before anything ends; refuses by throwing
 * @throws Problem `conflict` if it is closed already
 */
export async function closeAccount(
  db: Db,
  act: Act,
  check?: (tx: Tx) => Promise<void>,
): Promise<void> {
  await moveAudited(db, act, { action: 'account.close', status: 'closed', reason: null }, check)
}

async function moveAudited(
  db: Db,
  { actor, accountId }: Act,
  { action, ...to }: AccountMove,
  check?: (tx: Tx) => Promise<void>,
): Promise<void> {
  await inRetriedTransaction(db, async (tx) => {
    const before = await setAccountState(tx, accountId, to)
    if (before === undefined) throw new Problem('conflict', 'The account is closed already.')
    await check?.(tx)
    if (to.status === 'closed') await revokeAccess(tx, accountId)
    await writeAudit(tx, { actor, action, accountId, before, after: to })
  })
}

interface AccountMove {
  readonly action: 'account.suspend' | 'account.resume' | 'account.close'
  readonly status: AccountState
  readonly reason: string | null
}
