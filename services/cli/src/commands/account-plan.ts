import type { Command } from 'commander'
import type { Plan } from '@plumbline/contract/plans'
import { moveToPlan } from '@plumbline/metering/administer'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
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
    .requiredOption('--plan <plan>', 'new plan; "plan list" shows those there are')
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { plan, json } = options
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  const change = await moveToPlan(db, { actor: actorOf(options), accountId: id, plan })
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
