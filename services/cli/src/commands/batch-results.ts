import type { Command } from 'commander'
import { jsonOption, keyOption, wholeNumber } from '../arguments.ts'
import { formatOf, openResultFile } from '../result-file.ts'
import { addResultsOptions, resultsAsked, type ResultsChoice } from '../results-options.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends ResultsChoice {
  readonly out: string
  readonly after?: number
  readonly refused: boolean
  readonly key?: string
  readonly json: boolean
}

/** `batch results`: writes what there is of a batch's results. */
export function addBatchResults(parent: Command, shell: Shell): void {
  const command = parent
    .command('results')
    .description('write the results of a batch; while it runs, those it has so far')
    .argument('<id>', 'batch')
    .requiredOption('--out <file>', 'where the results go')
  addResultsOptions(command)
    .option(
      '--after <row>',
      'rows behind this number; 0 for all',
      wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    )
    .option('--refused', 'the rows that were refused, with what is wrong with each', false)
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { out, after, refused, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  await using file = await openResultFile(out)
  const results = await client.batches.results(id, {
    ...resultsAsked(options, formatOf(out, options.format)),
    refused,
    ...(after === undefined ? {} : { after }),
    signal: shell.stop,
  })
  await file.keep(results.body, shell.stop)
  if (json) writeJson(shell, { id, out, complete: results.complete })
  else shell.write(`Results: ${out}${results.complete ? '' : ' (not complete yet)'}\n`)
}
