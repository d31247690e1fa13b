import type { Command } from 'commander'
import type { KeyMode } from '@plumbline/contract/plans'
import { revokeKey } from '@plumbline/db/keys'
import { requireAccount } from '../accounts.ts'
import { jsonOption, modeOption } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
  readonly mode: KeyMode
  readonly json: boolean
}

/** `key revoke`: ends the active key of a mode. */
export function addKeyRevoke(parent: Command, shell: Shell): void {
  parent
    .command('revoke')
    .description('revoke the active key of a mode; it is refused within a second')
    .argument('<id>', 'account')
    .addOption(modeOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { mode, json }: Options): Promise<void> {
  await using db = await openServiceDatabase(cliSettings(shell.environment))
  await requireAccount(db, id)
  if (!(await revokeKey(db, { accountId: id, mode }))) {
    throw new Refusal(
      `The account ${id} has no active ${mode} key; "key list ${id}" shows its keys.`,
    )
  }
  if (json) writeJson(shell, { account_id: id, mode, revoked: true })
  else shell.write(`The ${mode} key of ${id} is revoked.\n`)
}
