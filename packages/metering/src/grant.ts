import type { Pack, Plan } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import { requirePack } from '@plumbline/db/offers'
import { hasState, SQLSTATE } from '@plumbline/db/sqlstate'
import { assertCredits, assertKey } from './operation.ts'
import { runStatement } from './statement.ts'

/**
 * Adds an add-on pack; its credits never expire.
 *
 * @param sourceRef id of the payment, which takes effect once, for one account only
 * @returns false if that payment was credited before
 * @throws Problem `unprocessable` if there is no such pack, `conflict` if the payment was credited to
 * another account
 */
export async function grantPack(
  db: Db | Tx,
  accountId: string,
  pack: Pack,
  sourceRef: string,
): Promise<boolean> {
  const { credits } = await requirePack(db, pack)
  try {
    return await grant(db, { accountId, sourceRef, kind: 'pack', credits, detail: pack })
  } catch (error) {
    if (!hasState(error, SQLSTATE.uniqueViolation)) throw error
    throw new Problem(
      'conflict',
      'This payment was credited to another account before; nothing was added.',
      { cause: error },
    )
  }
}

/**
 * Adds credits of the operator's choice, counted with the packs; takes effect once for each source.
 */
export async function grantGoodwill(
  db: Db | Tx,
  accountId: string,
  credits: number,
  sourceRef: string,
): Promise<boolean> {
  assertCredits(credits, 1)
  return grant(db, { accountId, sourceRef, kind: 'goodwill', credits, detail: null })
}

async function grant(
  db: Db | Tx,
  wanted: {
    accountId: string
    sourceRef: string
    kind: 'pack' | 'goodwill'
    credits: number
    detail: string | null
  },
): Promise<boolean> {
  assertKey('sourceRef', wanted.sourceRef)
  const rows = await runStatement<{ granted: boolean }>(db, {
    name: 'metering.grant',
    text: 'select credit_grant($1, $2, $3, $4, $5) as granted',
    values: [wanted.accountId, wanted.sourceRef, wanted.kind, wanted.credits, wanted.detail],
  })
  return rows[0]?.granted === true
}

/** Result of a change of plan. */
export interface PlanChange {
  readonly plan: Plan
  /** The plan of the next cycle; null if it stays the same. */
  readonly nextPlan: Plan | null
  /** Credits added at once. */
  readonly granted: number
}

/**
 * Moves an account to a plan: a larger one at once, with the difference in credits; a smaller one
 * with the next cycle. Requesting the current plan cancels a pending change.
 */
export async function changePlan(db: Db | Tx, accountId: string, plan: Plan): Promise<PlanChange> {
  const rows = await runStatement<{ plan_now: Plan; plan_next: Plan | null; granted: number }>(db, {
    name: 'metering.plan',
    text: 'select plan_now, plan_next, granted from credit_change_plan($1, $2)',
    values: [accountId, plan],
  })
  const [row] = rows
  if (row === undefined) throw new Error(`credit_change_plan returned no row for ${accountId}`)
  return { plan: row.plan_now, nextPlan: row.plan_next, granted: row.granted }
}
