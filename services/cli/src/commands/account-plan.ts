import type { Command } from 'commander'
import { Option } from 'commander'
import { PLANS, type Plan } from '@plumbline/contract/plans'
import { inRetriedTransaction, writeAudit } from '@plumbline/db/audit-log'
import type { Db } from '@plumbline/db/database'
import { lockBalance } from '@plumbline/metering/balance'
import { changePlan, type PlanChange } from '@plumbline/metering/grant'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends Acting {
  readonly plan: Plan
  readonly json: boolean
}

/** `account plan`: moves an account to a plan. */
export function addAccountPlan(parent: Command, shell: Shell): void {
  parent
    .command('plan')
    .description('change the plan: a larger one at once, a smaller one with the next cycle')
    .argument('<id>', 'account')
    .addOption(
      new Option('--plan <plan>', 'new plan').choices(Object.keys(PLANS)).makeOptionMandatory(),
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { plan, json } = options
  await using db = await openServiceDatabase(cliSettings(shell.environment))
  await requireAccount(db, id)
  const change = await changeAudited(db, id, plan, actorOf(options))
  if (json) {
    const { nextPlan, granted } = change
    writeJson(shell, { account_id: id, plan: change.plan, next_plan: nextPlan, granted })
  } else if (change.nextPlan === null) {
    shell.write(`${id} is on the plan ${change.plan}; ${change.granted} credits were added.\n`)
  } else {
    shell.write(
      `${id} stays on ${change.plan} and moves to ${change.nextPlan} with its next cycle.\n`,
    )
  }
}

async function changeAudited(
  db: Db,
  accountId: string,
  plan: Plan,
  actor: string,
): Promise<PlanChange> {
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
