import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

/** `batch delete`: erases a batch with its file and results. */
export function addBatchDelete(parent: Command, shell: Shell): void {
  parent
    .command('delete')
    .description('erase a batch with its file and results')
    .argument('<id>', 'batch')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  await client.batches.delete(id, { signal: shell.stop })
  if (json) writeJson(shell, { id, deleted: true })
  else shell.write(`${id} is deleted.\n`)
}
