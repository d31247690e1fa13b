import type { Command } from 'commander'
import type { Pack } from '@plumbline/contract/plans'
import { givePack } from '@plumbline/metering/administer'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption } from '../arguments.ts'
import { refOption, showGrant, sourceRef } from '../grant.ts'
import { openServiceDatabase } from '../service.ts'
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
    .requiredOption('--pack <pack>', 'which pack; "pack list" shows those there are')
    .addOption(refOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { pack, ref, json } = options
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  const act = { actor: actorOf(options), accountId: id, pack, sourceRef: sourceRef(ref) }
  await showGrant(shell, db, id, { ...(await givePack(db, act)), json })
}
