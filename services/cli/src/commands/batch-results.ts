import type { Command } from 'commander'
import { Option } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { formatOf, openResultFile, RESULT_FORMATS, type ResultFormat } from '../result-file.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
  readonly out: string
  readonly format?: ResultFormat
  readonly key?: string
  readonly json: boolean
}

/** `batch results`: writes what there is of a list's results. */
export function addBatchResults(parent: Command, shell: Shell): void {
  parent
    .command('results')
    .description('write the results of a list; while it runs, those it has so far')
    .argument('<id>', 'list')
    .requiredOption('--out <file>', 'where the results go')
    .addOption(
      new Option(
        '--format <format>',
        'form of the results (default: by the name of --out)',
      ).choices(RESULT_FORMATS),
    )
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { out, format, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  await using file = await openResultFile(out)
  const results = await client.batches.results(id, {
    format: formatOf(out, format),
    signal: shell.stop,
  })
  await file.keep(results.body, shell.stop)
  if (json) writeJson(shell, { id, out, complete: results.complete })
  else shell.write(`Results: ${out}${results.complete ? '' : ' (not complete yet)'}\n`)
}
