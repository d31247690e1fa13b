import { OWN_LIMITS } from '@plumbline/contract/plans'
import { listPlans } from '@plumbline/db/offers'
import type { Command } from 'commander'
import { jsonOption } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'
import { priceText } from '../price-text.ts'

/** `plan list`: the plans with their credits, prices and limits. */
export function addPlanList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list plans; a limit of "-" is the setting of the service')
    .addOption(jsonOption())
    .action((options: { readonly json: boolean }) => run(shell, options))
}

async function run(shell: Shell, { json }: { readonly json: boolean }): Promise<void> {
  await using db = await openServiceDatabase(shell.environment)
  const plans = await listPlans(db)
  if (json) {
    writeJson(shell, plans)
    return
  }
  const rows = plans.map((plan) => [
    plan.plan,
    String(plan.monthly_credits),
    priceText(plan.price_cents),
    plan.test_keys ? 'yes' : 'no',
    plan.is_offered ? 'yes' : 'no',
    ...OWN_LIMITS.map((name) => String(plan[name] ?? '-')),
  ])
  const headings = ['plan', 'credits', 'price', 'test keys', 'offered', ...OWN_LIMITS]
  shell.write(table(headings, rows, shell))
}
