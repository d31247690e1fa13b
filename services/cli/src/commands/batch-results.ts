import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { given } from '../given.ts'
import { formatOf, openResultFile } from '../result-file.ts'
import { addResultsOptions, resultsAsked, type ResultsChoice } from '../results-options.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ResultsChoice, ServiceOptions {
  readonly out: string
  readonly after?: number
  readonly refused: boolean
}

/** `batch results`: writes the results of a batch so far. */
export function addBatchResults(parent: Command, shell: Shell): void {
  const command = serviceCommand(
    parent,
    'results',
    'write the results of a batch; while it runs, those it has so far',
  )
    .argument('<id>', 'batch')
    .requiredOption('--out <file>', 'where the results go')
  addResultsOptions(command)
    .option(
      '--after <row>',
      'rows behind this number; 0 for all',
      wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    )
    .option('--refused', 'the rows that were refused, with what is wrong with each', false)
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { out, after, refused } = options
  const asked = {
    ...resultsAsked(options, formatOf(out, options.format)),
    refused,
    ...given({ after }),
  }
  await showResponse(
    shell,
    options,
    async (client, call) => {
      await using file = await openResultFile(out)
      const { body, complete } = await client.batches.results(id, { ...asked, ...call })
      await file.keep(body, shell.stop)
      return { id, out, complete }
    },
    ({ complete }) => `Results: ${out}${complete ? '' : ' (not complete yet)'}\n`,
  )
}
