import type { Command } from 'commander'
import { openResultFile } from '../result-file.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions {
  readonly out: string
}

/** `export`: writes everything that is stored for an account into a ZIP file. */
export function addExport(parent: Command, shell: Shell): void {
  serviceCommand(parent, 'export', 'write all that is kept of an account into a ZIP file')
    .requiredOption('--out <file>', 'where it goes')
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, options: Options): Promise<void> {
  const { out } = options
  await showResponse(
    shell,
    options,
    async (client, call) => {
      await using file = await openResultFile(out)
      await file.keep(await client.privacy.export(call), shell.stop)
      return { out }
    },
    () => `Export: ${out}\n`,
  )
}
