import { readSpending, setSpending } from '@plumbline/metering/spending'
import type { Command } from 'commander'
import { CREDITS_MAX } from '@plumbline/contract/plans'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { given } from '../given.ts'
import { nullIfNone, numberOrNone, type NumberOrNone } from '../own-limits.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options extends Acting {
  readonly dailyLimit?: NumberOrNone
  readonly lowMark?: NumberOrNone
  readonly json: boolean
}

/**
 * `account spending`: shows what an account spent today, and sets its daily limit and low-credit
 * mark.
 */
export function addAccountSpending(parent: Command, shell: Shell): void {
  parent
    .command('spending')
    .description('show what was spent today, or set the daily limit and the low-credit mark')
    .argument('<id>', 'account')
    .option(
      '--daily-limit <credits>',
      'beyond it calls are refused; none lifts it',
      numberOrNone(CREDITS_MAX, 0),
    )
    .option('--low-mark <credits>', 'its owners are notified below it', numberOrNone(CREDITS_MAX))
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { dailyLimit, lowMark, json } = options
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  const bounds = given({ dailyLimit: nullIfNone(dailyLimit), lowMark: nullIfNone(lowMark) })
  if (Object.keys(bounds).length > 0) {
    await setSpending(db, { actor: actorOf(options), accountId: id, bounds })
  }
  const spending = await readSpending(db, id)
  const view = {
    account_id: id,
    today: spending?.today ?? 0,
    daily_limit: spending?.dailyLimit ?? null,
    low_mark: spending?.lowMark ?? null,
  }
  if (json) writeJson(shell, view)
  else shell.write(facts(view, shell))
}
