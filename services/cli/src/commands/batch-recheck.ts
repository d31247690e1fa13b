import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { CREDITS_MAX, jsonOption, keyOption, resultFilters, wholeNumber } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options {
  readonly only?: readonly string[]
  readonly olderThanDays?: number
  readonly maxCredits?: number
  readonly start: boolean
  readonly name?: string
  readonly key?: string
  readonly json: boolean
}

/** `batch recheck`: makes a batch of the rows of another that are to be asked again. */
export function addBatchRecheck(parent: Command, shell: Shell): void {
  parent
    .command('recheck')
    .description('ask some rows of a batch again, as a new batch that is charged like any other')
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
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { only, olderThanDays, maxCredits, start, name, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const wanted = {
    ...(only === undefined ? {} : { only: [...only] }),
    ...(olderThanDays === undefined ? {} : { older_than_days: olderThanDays }),
    ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
    ...(start ? {} : { start }),
    ...(name === undefined ? {} : { name }),
  }
  const call = { signal: shell.stop, idempotencyKey: randomUUID() }
  const batch = await client.batches.recheck(id, wanted, call)
  if (json) writeJson(shell, batch)
  else shell.write(facts(batch, shell))
}
