import type { Command } from 'commander'
import { listAccounts } from '@plumbline/db/accounts'
import { jsonOption, wholeNumber } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

const LIMIT_MAX = 100_000

interface Options {
  readonly search?: string
  readonly limit: number
  readonly json: boolean
}

/** `account list`: lists all accounts, oldest first. */
export function addAccountList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list accounts, oldest first')
    .option('--search <text>', 'whose id it is, or whose address has it')
    .option('--limit <count>', 'at most so many', wholeNumber({ min: 1, max: LIMIT_MAX }), 1_000)
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { search, limit, json }: Options): Promise<void> {
  await using db = await openServiceDatabase(shell.environment)
  const accounts = await listAccounts(db, limit, search)
  if (json) {
    const views = accounts.map((account) => ({
      account_id: account.id,
      email: account.email,
      plan: account.plan,
      next_plan: account.nextPlan,
      time_zone: account.timeZone,
      created_at: account.createdAt.toISOString(),
    }))
    writeJson(shell, views)
    return
  }
  const rows = accounts.map(({ id, email, plan, createdAt }) => [
    id,
    email,
    plan,
    createdAt.toISOString().slice(0, 10),
  ])
  shell.write(table(['account', 'email', 'plan', 'since'], rows, shell))
}
