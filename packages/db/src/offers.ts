import { OFFER_NAME, type OwnLimit } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'
import { jsonbText } from './jsonb.ts'
import type { PackRow, PlanRow } from './tables/accounts.ts'

/** All plans, also those no longer offered, in the operator's order. */
export async function listPlans(db: Db | Tx): Promise<readonly PlanRow[]> {
  return await queriesOf(db)
    .selectFrom('plans')
    .selectAll()
    .orderBy('position')
    .orderBy('plan')
    .execute()
}

/** All add-on packs, also those no longer offered, in the operator's order. */
export async function listPacks(db: Db | Tx): Promise<readonly PackRow[]> {
  return await queriesOf(db)
    .selectFrom('packs')
    .selectAll()
    .orderBy('position')
    .orderBy('pack')
    .execute()
}

/** Changes to a plan; fields left out stay, and null removes a price or limit. */
export type PlanChanges = Partial<Omit<PlanRow, 'plan' | OwnLimit>> & {
  readonly [Name in OwnLimit]?: number | null
}

/** Changes to a pack; fields left out stay. */
export type PackChanges = Partial<Omit<PackRow, 'pack'>>

/**
 * Changes or creates a plan and writes it to the audit log. Accounts on the plan get the new
 * allowance with their next cycle, the new limits at once.
 *
 * @throws Problem `unprocessable` for an invalid name, and for a new plan without credits
 */
export async function changePlanOffer(
  db: Db | Tx,
  { actor, plan, changes }: { actor: string; plan: string; changes: PlanChanges },
): Promise<void> {
  const { rows } = await sql<{ done: boolean }>`
    select change_plan(${actor}, ${plan}, ${jsonbText(changes)}::jsonb) as done
  `.execute(queriesOf(db))
  if (rows[0]?.done !== true) throw unknownOffer('plan', plan)
}

/**
 * As `changePlanOffer`, for an add-on pack; packs bought before stay as they were.
 *
 * @throws Problem `unprocessable` for an invalid name, and for a new pack without credits
 */
export async function changePackOffer(
  db: Db | Tx,
  { actor, pack, changes }: { actor: string; pack: string; changes: PackChanges },
): Promise<void> {
  const { rows } = await sql<{ done: boolean }>`
    select change_pack(${actor}, ${pack}, ${jsonbText(changes)}::jsonb) as done
  `.execute(queriesOf(db))
  if (rows[0]?.done !== true) throw unknownOffer('pack', pack)
}

function unknownOffer(kind: 'plan' | 'pack', name: string): Problem {
  const message = OFFER_NAME.test(name)
    ? `There is no ${kind} ${name}; name its credits to make it.`
    : `The name of a ${kind} has 1 to 40 lower-case letters, digits and dashes.`
  return new Problem('unprocessable', message)
}

/**
 * The plan of a name.
 *
 * @throws Problem `unprocessable` if there is none; the message lists the plans
 */
export async function requirePlan(db: Db | Tx, plan: string): Promise<PlanRow> {
  const plans = await listPlans(db)
  const found = plans.find((one) => one.plan === plan)
  if (found !== undefined) return found
  throw missingOffer(
    'plan',
    plan,
    plans.map((one) => one.plan),
  )
}

/**
 * The add-on pack of a name.
 *
 * @throws Problem `unprocessable` if there is none; the message lists the packs
 */
export async function requirePack(db: Db | Tx, pack: string): Promise<PackRow> {
  const packs = await listPacks(db)
  const found = packs.find((one) => one.pack === pack)
  if (found !== undefined) return found
  throw missingOffer(
    'pack',
    pack,
    packs.map((one) => one.pack),
  )
}

function missingOffer(kind: 'plan' | 'pack', name: string, known: readonly string[]): Problem {
  return new Problem(
    'unprocessable',
    `There is no ${kind} ${JSON.stringify(name.slice(0, 60))}; there are ${known.join(', ')}.`,
  )
}
