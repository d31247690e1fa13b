import type { Command } from 'commander'
import { Option } from 'commander'
import { PACKS, type Pack } from '@plumbline/contract/plans'
import { grantPack } from '@plumbline/metering/grant'
import { requireAccount } from '../accounts.ts'
import { jsonOption } from '../arguments.ts'
import { refOption, showGrant, sourceRef } from '../grant.ts'
import { openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import type { Shell } from '../shell.ts'

interface Options {
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
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { pack, ref, json }: Options): Promise<void> {
  await using db = await openServiceDatabase(cliSettings(shell.environment))
  await requireAccount(db, id)
  const granted = await grantPack(db, id, pack, sourceRef(ref))
  await showGrant(shell, db, id, { credits: PACKS[pack].credits, granted, json })
}
