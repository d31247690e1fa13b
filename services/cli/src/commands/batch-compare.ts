import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { formatOf, openResultFile } from '../result-file.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options {
  readonly out?: string
  readonly all: boolean
  readonly key?: string
  readonly json: boolean
}

/** `batch compare`: what has changed between two batches of the same list. */
export function addBatchCompare(parent: Command, shell: Shell): void {
  parent
    .command('compare')
    .description(
      'what has changed between two batches of the same list, such as one and its recheck',
    )
    .argument('<id>', 'batch')
    .argument('<other>', 'batch that it is compared with')
    .option('--out <file>', 'write the rows that have changed; NDJSON by its name, else CSV')
    .option('--all', 'with --out: also the rows of which nothing has changed', false)
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, other: string, options: Options) => run(shell, id, other, options))
}

async function run(shell: Shell, id: string, other: string, options: Options): Promise<void> {
  const { out, all, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const call = { signal: shell.stop }
  if (out !== undefined) {
    await using file = await openResultFile(out)
    const format = formatOf(out, undefined) === 'ndjson' ? 'ndjson' : 'csv'
    const rows = await client.batches.compareRows(id, other, { format, all, ...call })
    await file.keep(rows, shell.stop)
  }
  const summary = await client.batches.compare(id, other, call)
  if (json) writeJson(shell, summary)
  else shell.write(facts(summary, shell))
}
