import { LEDGER_PAGE } from '@plumbline/contract/ledger'
import type { Command } from 'commander'
import { jsonOption, keyOption, wholeNumber } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly limit: number
  readonly cursor?: string
  readonly key?: string
  readonly json: boolean
}

/** `ledger`: one page of the moves of the account's credits, newest first. */
export function addLedger(parent: Command, shell: Shell): void {
  const most = wholeNumber({ min: 1, max: LEDGER_PAGE.max })
  parent
    .command('ledger')
    .description('list the moves of credits of the account, newest first, with the balance after')
    .option('--limit <count>', 'at most so many', most, LEDGER_PAGE.default)
    .option('--cursor <cursor>', 'the next page, as the page before named it')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { limit, cursor, key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const asked = { limit, ...(cursor === undefined ? {} : { cursor }) }
  const page = await client.ledger(asked, { signal: shell.stop })
  if (json) {
    writeJson(shell, page)
    return
  }
  const rows = page.data.map((entry) => [
    entry.at,
    entry.kind,
    String(entry.credits),
    String(entry.held),
    String(entry.balance),
    entry.product ?? '-',
    entry.source ?? '-',
    entry.batch_id ?? entry.detail ?? '-',
  ])
  const headings = ['when', 'what', 'credits', 'held', 'balance', 'product', 'source', 'for']
  shell.write(table(headings, rows, shell))
  if (page.next_cursor !== null) shell.tell(`More: --cursor ${page.next_cursor}\n`)
}
