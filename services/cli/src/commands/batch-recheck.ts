import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { CREDITS_MAX } from '@plumbline/contract/plans'
import { resultFilters, wholeNumber } from '../arguments.ts'
import { given } from '../given.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions {
  readonly only?: readonly string[]
  readonly olderThanDays?: number
  readonly maxCredits?: number
  readonly start: boolean
  readonly name?: string
}

/** `batch recheck`: makes a batch of the rows of another that are to be checked again. */
export function addBatchRecheck(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'recheck',
    'ask some rows of a batch again, as a new batch that is charged like any other',
  )
    .argument('<id>', 'batch')
    .option('--only <words>', 'verdicts, advices or reasons, such as unknown,risky', resultFilters)
    .option(
      '--older-than-days <days>',
      'rows that were answered longer ago',
      wholeNumber({ min: 1, max: 3_650 }),
    )
    .option(
      '--max-credits <count>',
      'do not start it where it may cost more',
      wholeNumber({ min: 0, max: CREDITS_MAX }),
    )
    .option('--no-start', 'let it wait at ready')
    .option('--name <text>', 'name of the new batch')
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { only, olderThanDays, maxCredits, start, name } = options
  const wanted = given({
    only: only && [...only],
    older_than_days: olderThanDays,
    max_credits: maxCredits,
    start: start ? undefined : false,
    name,
  })
  await showResponse(shell, options, (client, call) =>
    client.batches.recheck(id, wanted, { ...call, idempotencyKey: randomUUID() }),
  )
}
