import { limitAccount } from '@plumbline/metering/administer'
import type { Command } from 'commander'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { addLimitOptions, limitsOf, type LimitOptions } from '../own-limits.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'
import { readLimits, readOwnLimits } from '@plumbline/db/limits'

interface Options extends Acting, LimitOptions {
  readonly json: boolean
}

/** `account limits`: shows the limits of one account, and sets those that are named. */
export function addAccountLimits(parent: Command, shell: Shell): void {
  const command = parent
    .command('limits')
    .description('show limits of one account, or set some; "none" gives back those of its plan')
    .argument('<id>', 'account')
  addLimitOptions(command)
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const limits = limitsOf(options)
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  if (Object.keys(limits).length > 0) {
    await limitAccount(db, { actor: actorOf(options), accountId: id, limits })
  }
  const view = {
    account_id: id,
    own: await readOwnLimits(db, id),
    with_plan: await readLimits(db, id),
  }
  if (options.json) writeJson(shell, view)
  else shell.write(facts(view, shell))
}
