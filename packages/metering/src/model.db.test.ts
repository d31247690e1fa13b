import { PACKS, PLANS } from '@plumbline/contract/plans'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { changePlan, grantPack } from './grant.ts'
import { hold, release, settle } from './hold.ts'

type Plan = keyof typeof PLANS

/** The expected state of an account, by the rules only. */
interface Model {
  plan: Plan
  nextPlan: Plan | null
  allowance: number
  packs: number
  cycle: number
  readonly debits: Map<string, Taken & { waiting: boolean }>
  readonly holds: Map<string, Taken & { open: boolean; readonly keys: Set<string> }>
  readonly sources: Set<string>
}

interface Taken {
  allowance: number
  packs: number
  cycle: number
}

type Step =
  | { readonly do: 'debit'; readonly key: string; readonly credits: number }
  | { readonly do: 'answered'; readonly key: string; readonly back: number }
  | { readonly do: 'refund'; readonly key: string }
  | { readonly do: 'hold'; readonly key: string; readonly credits: number }
  | { readonly do: 'settle'; readonly key: string; readonly op: string; readonly credits: number }
  | { readonly do: 'release'; readonly key: string }
  | { readonly do: 'pack'; readonly key: string }
  | { readonly do: 'plan'; readonly plan: Plan }
  | { readonly do: 'month'; readonly months: number }

const key = fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6')
const credits = fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 6_000 }))

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('debit'), key, credits }),
  fc.record({ do: fc.constant('answered'), key, back: fc.integer({ min: 0, max: 100 }) }),
  fc.record({ do: fc.constant('refund'), key }),
  fc.record({ do: fc.constant('hold'), key, credits }),
  fc.record({ do: fc.constant('settle'), key, op: key, credits: fc.integer({ min: 0, max: 90 }) }),
  fc.record({ do: fc.constant('release'), key }),
  fc.record({ do: fc.constant('pack'), key }),
  fc.record({ do: fc.constant('plan'), plan: fc.constantFrom('free', 'starter', 'pro') }),
  fc.record({ do: fc.constant('month'), months: fc.integer({ min: 1, max: 3 }) }),
)

test('any order of moves results in the balance that the rules give', async () => {
  await using context = await openMeteringContext()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const id = await context.account('free')
      const model = newModel()
      for (const [n, one] of steps.entries()) {
        const expected = modelled(model, one)
        expect(await carryOut(context, id, one), `step ${n}: ${JSON.stringify(one)}`).toEqual(
          expected,
        )
        const balance = await context.metering.balance(id)
        expect(balance, `after step ${n}: ${JSON.stringify(one)}`).toMatchObject({
          plan: model.plan,
          nextPlan: model.nextPlan,
          allowance: model.allowance,
          packs: model.packs,
          held: heldIn(model),
        })
      }
    }),
    { numRuns: 60 },
  )
  expect(await auditLedger(context.db)).toEqual([])
})

function newModel(): Model {
  return {
    plan: 'free',
    nextPlan: null,
    allowance: PLANS.free.monthlyCredits,
    packs: 0,
    cycle: 0,
    debits: new Map(),
    holds: new Map(),
    sources: new Set(),
  }
}

function heldIn(model: Model): number {
  return [...model.holds.values()].reduce((sum, hold) => sum + hold.allowance + hold.packs, 0)
}

/** Takes credits from the model, allowance first; undefined if it has fewer. */
function take(model: Model, wanted: number): Taken | undefined {
  if (wanted > model.allowance + model.packs) return undefined
  const allowance = Math.min(model.allowance, wanted)
  model.allowance -= allowance
  model.packs -= wanted - allowance
  return { allowance, packs: wanted - allowance, cycle: model.cycle }
}

/**
 * Returns credits to the model, packs first, and drops those of an ended cycle; the number of
 * returned credits.
 */
function putBack(model: Model, taken: Taken, most: number): number {
  const packs = Math.min(most, taken.packs)
  const rest = Math.min(most - packs, taken.allowance)
  const allowance = taken.cycle === model.cycle ? rest : 0
  model.packs += packs
  model.allowance += allowance
  return packs + allowance
}

/** Applies a step to the model and returns the expected result. */
function modelled(model: Model, one: Step): unknown {
  switch (one.do) {
    case 'debit': {
      const before = model.debits.get(one.key)
      // A used key belongs to another operation; the caller chooses a new one.
      if (before !== undefined) return 'used'
      const taken = take(model, one.credits)
      if (taken !== undefined) model.debits.set(one.key, { ...taken, waiting: true })
      return taken !== undefined
    }
    case 'answered':
    case 'refund': {
      const debit = model.debits.get(one.key)
      if (debit?.waiting !== true) return 'over'
      debit.waiting = false
      return putBack(model, debit, one.do === 'refund' ? Number.MAX_SAFE_INTEGER : one.back)
    }
    case 'hold': {
      if (model.holds.has(one.key)) return 'used'
      const taken = take(model, one.credits)
      if (taken !== undefined) model.holds.set(one.key, { ...taken, open: true, keys: new Set() })
      return taken !== undefined
    }
    case 'settle': {
      const hold = model.holds.get(one.key)
      const opKey = `${one.key}:${one.op}`
      if (hold === undefined) return 'refused'
      if (hold.keys.has(opKey)) return false
      if (!hold.open || one.credits > hold.allowance + hold.packs) return 'refused'
      hold.keys.add(opKey)
      const allowance = Math.min(hold.allowance, one.credits)
      hold.allowance -= allowance
      hold.packs -= one.credits - allowance
      return true
    }
    case 'release': {
      const hold = model.holds.get(one.key)
      if (hold?.open !== true) return undefined
      const rest = hold.allowance + hold.packs
      putBack(model, hold, rest)
      Object.assign(hold, { allowance: 0, packs: 0, open: false })
      return rest
    }
    case 'pack': {
      if (model.sources.has(one.key)) return false
      model.sources.add(one.key)
      model.packs += PACKS.starter.credits
      return true
    }
    case 'plan': {
      const more = PLANS[one.plan].monthlyCredits - PLANS[model.plan].monthlyCredits
      model.nextPlan = more < 0 ? one.plan : null
      if (more > 0) {
        model.plan = one.plan
        model.allowance += more
      }
      return Math.max(0, more)
    }
    case 'month': {
      model.cycle += one.months
      model.plan = model.nextPlan ?? model.plan
      model.nextPlan = null
      model.allowance = PLANS[model.plan].monthlyCredits
      return undefined
    }
  }
}

async function carryOut(context: MeteringContext, id: string, one: Step): Promise<unknown> {
  const { metering, db } = context
  const work = db.kysely.transaction()
  switch (one.do) {
    case 'debit': {
      const { rowCount } = await db.pool.query(
        "select from credit_entries where account_id = $1 and op_key = $2 and kind = 'debit'",
        [id, one.key],
      )
      if (rowCount === 1) return 'used'
      return (await metering.debit({ accountId: id, opKey: one.key, credits: one.credits })).granted
    }
    case 'answered':
    case 'refund': {
      const { rowCount } = await db.pool.query(
        'select from credit_unanswered where account_id = $1 and op_key = $2',
        [id, one.key],
      )
      const asked = { accountId: id, opKey: one.key }
      const ended =
        one.do === 'refund'
          ? await metering.refund({ ...asked, reason: 'test' })
          : await metering.finalize({ ...asked, giveBack: one.back })
      return rowCount === 1 ? ended.given : 'over'
    }
    case 'hold': {
      const { rowCount } = await db.pool.query(
        'select from credit_holds where account_id = $1 and ref = $2',
        [id, one.key],
      )
      if (rowCount === 1) return 'used'
      const request = { accountId: id, ref: one.key, credits: one.credits }
      return (await work.execute((tx) => hold(tx, request))).granted
    }
    case 'settle': {
      const request = {
        accountId: id,
        ref: one.key,
        opKey: `${one.key}:${one.op}`,
        credits: one.credits,
      }
      return work.execute((tx) => settle(tx, request)).catch(() => 'refused')
    }
    case 'release': {
      const request = { accountId: id, ref: one.key, opKey: `${one.key}:end` }
      return work.execute((tx) => release(tx, request))
    }
    case 'pack':
      return grantPack(context.db, id, 'starter', `${id}:${one.key}`)
    case 'plan':
      return (await changePlan(context.db, id, one.plan)).granted
    case 'month':
      await context.age(id, one.months)
      return undefined
  }
}
