import { LEDGER_PAGE } from '@plumbline/contract/ledger'
import type { Command } from 'commander'
import { given } from '../given.ts'
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
}

/** `ledger`: one page of the moves of the account's credits, newest first. */
export function addLedger(parent: Command, shell: Shell): void {
  const command = serviceCommand(
    parent,
    'ledger',
    'list the moves of credits of the account, newest first, with the balance after',
  )
  addPageOptions(command, LEDGER_PAGE).action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { limit, cursor, ...options }: Options): Promise<void> {
  const asked = given({ limit, cursor })
  await showPage(shell, options, (client, call) => client.ledger(asked, call), {
    when: ({ at }) => at,
    what: ({ kind }) => kind,
    credits: ({ credits }) => String(credits),
    held: ({ held }) => String(held),
    balance: ({ balance }) => String(balance),
    product: ({ product }) => product ?? '-',
    source: ({ source }) => source ?? '-',
    for: (entry) => entry.batch_id ?? entry.detail ?? '-',
  })
}
