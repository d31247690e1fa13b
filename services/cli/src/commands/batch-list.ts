import type { Command } from 'commander'
import { jsonOption, keyOption, wholeNumber } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly limit: number
  readonly cursor?: string
  readonly status?: string
  readonly search?: string
  readonly key?: string
  readonly json: boolean
}

/** `batch list`: one page of the account's batches, newest first. */
export function addBatchList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list the batches of the account, newest first')
    .option('--limit <count>', 'at most so many', wholeNumber({ min: 1, max: 100 }), 20)
    .option('--cursor <cursor>', 'the next page, as the page before named it')
    .option('--status <states>', 'in these states alone, parted by commas')
    .option('--search <text>', 'whose name, file name or id holds this')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { key, json, ...asked }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const page = await client.batches.list(asked, { signal: shell.stop })
  if (json) {
    writeJson(shell, page)
    return
  }
  const rows = page.data.map((batch) => [
    batch.id,
    batch.product,
    batch.status,
    `${batch.rows.done}/${batch.rows.total}`,
    String(batch.credits.used),
    batch.created_at,
    batch.name ?? batch.file?.name ?? '-',
  ])
  shell.write(
    table(['batch', 'product', 'status', 'rows', 'credits', 'created', 'name'], rows, shell),
  )
  if (page.next_cursor !== null) shell.tell(`More: --cursor ${page.next_cursor}\n`)
}
