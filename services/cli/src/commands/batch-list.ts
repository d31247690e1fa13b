import { BATCH_PAGE } from '@plumbline/contract/batch-view'
import type { Command } from 'commander'
import {
  addPageOptions,
  serviceCommand,
  showPage,
  type ServiceOptions,
} from '../service-command.ts'
import type { Shell } from '../shell.ts'

interface Options extends ServiceOptions {
  readonly limit: number
  readonly cursor?: string
  readonly status?: string
  readonly search?: string
}

/** `batch list`: one page of the account's batches, newest first. */
export function addBatchList(parent: Command, shell: Shell): void {
  const command = serviceCommand(parent, 'list', 'list the batches of the account, newest first')
  addPageOptions(command, BATCH_PAGE)
    .option('--status <states>', 'in these states alone, separated by commas')
    .option('--search <text>', 'whose name, file name or id holds this')
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { key, json, ...asked }: Options): Promise<void> {
  const options = key === undefined ? { json } : { key, json }
  await showPage(shell, options, (client, call) => client.batches.list(asked, call), {
    batch: ({ id }) => id,
    product: ({ product }) => product,
    status: ({ status }) => status,
    rows: ({ rows }) => `${rows.done}/${rows.total}`,
    credits: ({ credits }) => String(credits.used),
    created: (batch) => batch.created_at,
    name: ({ name, file }) => name ?? file?.name ?? '-',
  })
}
