import { OWN_LIMITS, type OwnLimits } from '@plumbline/contract/plans'
import { queriesOf, type Db, type Tx } from './database.ts'

/** The limits of an account that has none of its own: those of its plan or installation apply. */
const NO_OWN_LIMITS: OwnLimits = {
  calls_per_second: null,
  calls_burst: null,
  unfinished_batches: null,
  upload_rows: null,
  hlr_numbers_per_day: null,
}

/**
 * The effective limits of an account: its own, else those of its plan; null means the setting of
 * the installation.
 */
export async function readLimits(db: Db | Tx, accountId: string): Promise<OwnLimits> {
  const row = await queriesOf(db)
    .selectFrom('accounts')
    .innerJoin('plans', 'plans.plan', 'accounts.plan')
    .leftJoin('account_limits as own', 'own.account_id', 'accounts.id')
    .select((eb) =>
      OWN_LIMITS.map((name) => eb.fn.coalesce(`own.${name}`, `plans.${name}`).as(name)),
    )
    .where('accounts.id', '=', accountId)
    .executeTakeFirst()
  return row ?? NO_OWN_LIMITS
}

/** The limits that were set for this account only. */
export async function readOwnLimits(db: Db | Tx, accountId: string): Promise<OwnLimits> {
  const row = await queriesOf(db)
    .selectFrom('account_limits')
    .select(OWN_LIMITS)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? NO_OWN_LIMITS
}

/** Sets limits of one account; those left out stay, null returns to the limit of the plan. */
export async function setOwnLimits(
  tx: Tx,
  accountId: string,
  limits: Partial<OwnLimits>,
): Promise<void> {
  const set = { ...(await readOwnLimits(tx, accountId)), ...limits }
  await tx
    .insertInto('account_limits')
    .values({ account_id: accountId, ...set })
    .onConflict((at) => at.column('account_id').doUpdateSet(set))
    .execute()
}
