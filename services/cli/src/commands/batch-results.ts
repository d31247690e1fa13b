import type { Command } from 'commander'
import { Option } from 'commander'
import { jsonOption, keyOption, resultFilters, wholeNumber } from '../arguments.ts'
import { formatOf, openResultFile, RESULT_FORMATS, type ResultFormat } from '../result-file.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options {
  readonly out: string
  readonly format?: ResultFormat
  readonly only?: readonly string[]
  readonly after?: number
  readonly raw: boolean
  readonly key?: string
  readonly json: boolean
}

/** `batch results`: writes what there is of a batch's results. */
export function addBatchResults(parent: Command, shell: Shell): void {
  parent
    .command('results')
    .description('write the results of a batch; while it runs, those it has so far')
    .argument('<id>', 'batch')
    .requiredOption('--out <file>', 'where the results go')
    .addOption(
      new Option(
        '--format <format>',
        'form of the results (default: by the name of --out)',
      ).choices(RESULT_FORMATS),
    )
    .option('--only <words>', 'verdicts or row statuses, such as risky,unknown', resultFilters)
    .option(
      '--after <row>',
      'rows behind this number; 0 for all',
      wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    )
    .option('--raw', 'cells as they came, also those that a spreadsheet would run', false)
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { out, format, only, after, raw, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  await using file = await openResultFile(out)
  const results = await client.batches.results(id, {
    format: formatOf(out, format),
    raw,
    ...(only === undefined ? {} : { only }),
    ...(after === undefined ? {} : { after }),
    signal: shell.stop,
  })
  await file.keep(results.body, shell.stop)
  if (json) writeJson(shell, { id, out, complete: results.complete })
  else shell.write(`Results: ${out}${results.complete ? '' : ' (not complete yet)'}\n`)
}
