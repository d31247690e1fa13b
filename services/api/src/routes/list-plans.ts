import type { OffersView } from '@plumbline/contract/plans'
import { listPacks, listPlans as plansOf } from '@plumbline/db/offers'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/plans`: the offered plans and packs with their prices, and the contact for them. */
export function listPlans(ctx: Context): Handler {
  return async (req, res) => {
    const caller = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const [plans, packs] = await Promise.all([plansOf(ctx.db), listPacks(ctx.db)])
    const view: OffersView = {
      plans: plans
        // The account's own plan is shown even if it is no longer offered.
        .filter(({ is_offered, plan }) => is_offered || plan === caller.plan)
        .map((row) => ({
          plan: row.plan,
          monthly_credits: row.monthly_credits,
          test_keys: row.test_keys,
          price_usd: dollars(row.price_cents),
          current: row.plan === caller.plan,
        })),
      packs: packs
        .filter(({ is_offered }) => is_offered)
        .map((row) => ({
          pack: row.pack,
          credits: row.credits,
          price_usd: dollars(row.price_cents),
        })),
      contact_url: ctx.settings.CONTACT_URL ?? null,
    }
    await sendView(ctx, res, view)
  }
}

function dollars(cents: number | null): number | null {
  return cents === null ? null : cents / 100
}
