import { batchChange, type BatchChange } from '@plumbline/contract/batch-change'
import { PRODUCTS } from '@plumbline/contract/products'
import { DELIMITER_NAMES } from '@plumbline/contract/delimiters'
import { Option, type Command } from 'commander'
import { CREDITS_MAX } from '@plumbline/contract/plans'
import { wholeNumber } from '../arguments.ts'
import { given } from '../given.ts'
import { addReadingOptions, type ReadingOptions } from '../reading-options.ts'
import { Refusal } from '../refusal.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions, ReadingOptions {
  readonly product?: string
  readonly maxCredits?: number
  readonly name?: string
}

/** `batch change`: changes how a batch is read and what it checks, before it starts. */
export function addBatchChange(parent: Command, shell: Shell): void {
  const command = serviceCommand(
    parent,
    'change',
    'change a batch that waits at ready; it is read again, and nothing is held',
  )
    .argument('<id>', 'batch')
    .addOption(new Option('--product <product>', 'what to ask for each row').choices(PRODUCTS))
  addReadingOptions(command)
    .option(
      '--max-credits <count>',
      'do not start by itself where it may cost more',
      wholeNumber({ min: 0, max: CREDITS_MAX }),
    )
    .option('--name <text>', 'name of the batch')
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const change = changeOf(options)
  await showResponse(shell, options, (client, call) => client.batches.change(id, change, call))
}

function changeOf(options: Options): BatchChange {
  const { sheet } = options
  const asked = given({
    product: options.product,
    mapping: options.mapping,
    header: options.header,
    sheet: sheet !== undefined && /^\d{1,4}$/.test(sheet) ? Number(sheet) : sheet,
    entry: options.entry,
    encoding: options.encoding,
    delimiter: DELIMITER_NAMES.get(options.delimiter ?? ''),
    known: options.known,
    known_at: options.knownAt,
    default_country: options.defaultCountry,
    max_credits: options.maxCredits,
    name: options.name,
  })
  const read = batchChange.safeParse(asked)
  if (read.success) return read.data
  throw new Refusal(read.error.issues[0]?.message ?? 'This cannot be changed.')
}
