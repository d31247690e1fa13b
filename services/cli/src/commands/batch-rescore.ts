import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options {
  readonly weights?: string
  readonly name?: string
  readonly key?: string
  readonly json: boolean
}

/** `batch rescore`: makes a batch of the outcomes of another, scored by other weights. */
export function addBatchRescore(parent: Command, shell: Shell): void {
  parent
    .command('rescore')
    .description('score the outcomes of a batch by other weights, as a new batch; free')
    .argument('<id>', 'batch')
    .option('--weights <version>', 'version of weights (default: those in use now)')
    .option('--name <text>', 'name of the new batch')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const { weights, name, key, json } = options
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const wanted = {
    ...(weights === undefined ? {} : { weights }),
    ...(name === undefined ? {} : { name }),
  }
  const call = { signal: shell.stop, idempotencyKey: randomUUID() }
  const batch = await client.batches.rescore(id, wanted, call)
  if (json) writeJson(shell, batch)
  else shell.write(facts(batch, shell))
}
