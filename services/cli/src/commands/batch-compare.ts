import type { Command } from 'commander'
import { formatOf, openResultFile } from '../result-file.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions {
  readonly out?: string
  readonly all: boolean
}

/** `batch compare`: compares two batches of the same records. */
export function addBatchCompare(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'compare',
    'what has changed between two batches of the same records, such as one and its recheck',
  )
    .argument('<id>', 'batch')
    .argument('<other>', 'batch that it is compared with')
    .option('--out <file>', 'write the rows that have changed; NDJSON by its name, else CSV')
    .option('--all', 'with --out: also the rows of which nothing has changed', false)
    .action((id: string, other: string, options: Options) => run(shell, id, other, options))
}

async function run(shell: Shell, id: string, other: string, options: Options): Promise<void> {
  const { out, all } = options
  await showResponse(shell, options, async (client, call) => {
    if (out !== undefined) {
      await using file = await openResultFile(out)
      const format = formatOf(out, undefined) === 'ndjson' ? 'ndjson' : 'csv'
      const rows = await client.batches.compareRows(id, other, { format, all, ...call })
      await file.keep(rows, shell.stop)
    }
    return await client.batches.compare(id, other, call)
  })
}
