import type { Command } from 'commander'
import type { KeyMode } from '@plumbline/contract/plans'
import { inTransaction } from '@plumbline/db/database'
import { createAuditedKey } from '@plumbline/db/key-acts'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, modeOption } from '../arguments.ts'
import { findService, openDatabaseOf } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends Acting {
  readonly mode: KeyMode
  readonly json: boolean
}

/** `key create`: a new key, which revokes the older one of its mode. */
export function addKeyCreate(parent: Command, shell: Shell): void {
  parent
    .command('create')
    .description('make a key, shown only now; the older one of that mode is revoked')
    .argument('<id>', 'account')
    .addOption(modeOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { mode, json } = options
  const location = await findService(cliSettings(shell.environment))
  await using db = openDatabaseOf(location)
  await requireAccount(db, id)
  const wanted = { accountId: id, mode, service: location.keyPrefix }
  const { key } = await inTransaction(db, (tx) => createAuditedKey(tx, wanted, actorOf(options)))
  if (json) writeJson(shell, { key })
  else shell.write(`${key}\n`)
}
