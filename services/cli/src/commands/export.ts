import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openResultFile } from '../result-file.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
  readonly out: string
  readonly key?: string
  readonly json: boolean
}

/** `export`: writes all that is kept of an account into a ZIP file. */
export function addExport(parent: Command, shell: Shell): void {
  parent
    .command('export')
    .description('write all that is kept of an account into a ZIP file')
    .requiredOption('--out <file>', 'where it goes')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { out, key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  await using file = await openResultFile(out)
  await file.keep(await client.privacy.export({ signal: shell.stop }), shell.stop)
  if (json) writeJson(shell, { out })
  else shell.write(`Export: ${out}\n`)
}
