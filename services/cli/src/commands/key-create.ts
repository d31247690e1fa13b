import type { Command } from 'commander'
import type { KeyMode } from '@plumbline/contract/plans'
import { createKey } from '@plumbline/db/keys'
import { requireAccount } from '../accounts.ts'
import { jsonOption, modeOption } from '../arguments.ts'
import { findService, openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
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
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { mode, json }: Options): Promise<void> {
  const settings = cliSettings(shell.environment)
  const { keyPrefix } = await findService(settings)
  await using db = await openServiceDatabase(settings)
  await requireAccount(db, id)
  const { key } = await createKey(db, { accountId: id, mode, service: keyPrefix })
  if (json) writeJson(shell, { key })
  else shell.write(`${key}\n`)
}
