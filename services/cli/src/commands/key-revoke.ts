import type { Command } from 'commander'
import type { KeyMode } from '@plumbline/contract/plans'
import { revokeAuditedKey } from '@plumbline/db/key-acts'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, modeOption } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends Acting {
  readonly mode: KeyMode
  readonly json: boolean
}

/** `key revoke`: revokes the active key of a mode. */
export function addKeyRevoke(parent: Command, shell: Shell): void {
  parent
    .command('revoke')
    .description('revoke the active key of a mode; it is refused within a second')
    .argument('<id>', 'account')
    .addOption(modeOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { mode, json } = options
  await using db = await openServiceDatabase(shell.environment)
  await requireAccount(db, id)
  if (!(await revokeAuditedKey(db, { accountId: id, mode }, actorOf(options)))) {
    throw new Refusal(
      `The account ${id} has no active ${mode} key; "key list ${id}" shows its keys.`,
    )
  }
  if (json) writeJson(shell, { account_id: id, mode, revoked: true })
  else shell.write(`The ${mode} key of ${id} is revoked.\n`)
}
