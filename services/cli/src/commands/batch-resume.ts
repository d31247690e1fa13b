import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

/** `batch resume`: lets a paused batch go on. */
export function addBatchResume(parent: Command, shell: Shell): void {
  parent
    .command('resume')
    .description('let a paused batch go on')
    .argument('<id>', 'batch')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const batch = await client.batches.resume(id, { signal: shell.stop })
  if (json) writeJson(shell, batch)
  else shell.write(facts(batch, shell))
}
