import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { given } from '../given.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions {
  readonly weights?: string
  readonly name?: string
}

/** `batch rescore`: makes a batch of the outcomes of another, scored by other weights. */
export function addBatchRescore(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'rescore',
    'score the outcomes of a batch by other weights, as a new batch; free',
  )
    .argument('<id>', 'batch')
    .option('--weights <version>', 'version of weights (default: those in use now)')
    .option('--name <text>', 'name of the new batch')
    .action((id: string, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string, options: Options): Promise<void> {
  const wanted = given({ weights: options.weights, name: options.name })
  await showResponse(shell, options, (client, call) =>
    client.batches.rescore(id, wanted, { ...call, idempotencyKey: randomUUID() }),
  )
}
