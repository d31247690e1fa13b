import type { Command } from 'commander'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

/** `batch delete`: erases a batch with its file and results. */
export function addBatchDelete(parent: Command, shell: Shell): void {
  serviceCommand(parent, 'delete', 'erase a batch with its file and results')
    .argument('<id>', 'batch')
    .action((id: string, options: ServiceOptions) =>
      showResponse(
        shell,
        options,
        async (client, call) => {
          await client.batches.delete(id, call)
          return { id, deleted: true }
        },
        () => `${id} is deleted.\n`,
      ),
    )
}
