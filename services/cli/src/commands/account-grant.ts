import type { Command } from 'commander'
import { giveCredits } from '@plumbline/metering/administer'
import { CREDITS_MAX } from '@plumbline/contract/plans'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, wholeNumber } from '../arguments.ts'
import { refOption, showGrant, sourceRef } from '../grant.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting {
  readonly credits: number
  readonly ref?: string
  readonly json: boolean
}

/** `account grant`: adds credits as goodwill. */
export function addAccountGrant(parent: Command, shell: Shell): void {
  parent
    .command('grant')
    .description('add credits as goodwill; they count with the packs and never expire')
    .argument('<id>', 'account')
    .requiredOption('--credits <count>', 'how many', wholeNumber({ min: 1, max: CREDITS_MAX }))
    .addOption(refOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { credits, ref, json } = options
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  const act = { actor: actorOf(options), accountId: id, credits, sourceRef: sourceRef(ref) }
  await showGrant(shell, db, id, { ...(await giveCredits(db, act)), json })
}
