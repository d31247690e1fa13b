import type { Command } from 'commander'
import { Option } from 'commander'
import { PACKS, type Pack } from '@plumbline/contract/plans'
import { grantPack } from '@plumbline/metering/grant'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { grantAudited, refOption, showGrant, sourceRef } from '../grant.ts'
import { openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting {
  readonly pack: Pack
  readonly ref?: string
  readonly json: boolean
}

/** `account pack`: adds an add-on pack. */
export function addAccountPack(parent: Command, shell: Shell): void {
  parent
    .command('pack')
    .description('add an add-on pack; its credits never expire')
    .argument('<id>', 'account')
    .addOption(
      new Option('--pack <pack>', 'which pack').choices(Object.keys(PACKS)).makeOptionMandatory(),
    )
    .addOption(refOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { pack, ref, json } = options
  await using db = await openServiceDatabase(cliSettings(shell.environment))
  await requireAccount(db, id)
  const source = sourceRef(ref)
  const { credits } = PACKS[pack]
  const granted = await grantAudited(
    db,
    { actor: actorOf(options), action: 'account.pack', accountId: id, credits, sourceRef: source },
    (tx) => grantPack(tx, id, pack, source),
  )
  await showGrant(shell, db, id, { credits, granted, json })
}
