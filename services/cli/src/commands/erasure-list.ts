import { ERASURE_PAGE } from '@plumbline/contract/erasure'
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

/** `erasure list`: one page of the account's receipts, newest first. */
export function addErasureList(parent: Command, shell: Shell): void {
  const command = serviceCommand(parent, 'list', 'list the erasures of the account, newest first')
  addPageOptions(command, ERASURE_PAGE).action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { limit, cursor, ...options }: Options): Promise<void> {
  const asked = given({ limit, cursor })
  await showPage(shell, options, (client, call) => client.privacy.erasures(asked, call), {
    erasure: ({ id }) => id,
    status: ({ status }) => status,
    values: ({ values }) => String(values),
    rows: ({ erased }) => String(erased.rows),
    created: (receipt) => receipt.created_at,
    completed: (receipt) => receipt.completed_at ?? '-',
  })
}
