import { ERASURE_PAGE } from '@plumbline/contract/erasure'
import type { Command } from 'commander'
import { jsonOption, keyOption, wholeNumber } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly limit: number
  readonly cursor?: string
  readonly key?: string
  readonly json: boolean
}

/** `erasure list`: one page of the account's receipts, newest first. */
export function addErasureList(parent: Command, shell: Shell): void {
  const { default: fallback, max } = ERASURE_PAGE
  parent
    .command('list')
    .description('list the erasures of the account, newest first')
    .option('--limit <count>', 'at most so many', wholeNumber({ min: 1, max }), fallback)
    .option('--cursor <cursor>', 'the next page, as the page before named it')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { key, json, ...asked }: Options): Promise<void> {
  const client = await openServiceClient(shell.environment, key)
  const page = await client.privacy.erasures(asked, { signal: shell.stop })
  if (json) {
    writeJson(shell, page)
    return
  }
  const rows = page.data.map(
    ({ id, status, values, erased, created_at: at, completed_at: end }) => [
      id,
      status,
      String(values),
      String(erased.rows),
      at,
      end ?? '-',
    ],
  )
  shell.write(table(['erasure', 'status', 'values', 'rows', 'created', 'completed'], rows, shell))
  if (page.next_cursor !== null) shell.tell(`More: --cursor ${page.next_cursor}\n`)
}
