import type { Command } from 'commander'
import { listAudit } from '@plumbline/db/audit-log'
import { jsonOption, wholeNumber } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly account?: string
  readonly limit: number
  readonly json: boolean
}

/** `audit list`: administrative acts on accounts and keys, newest first. */
export function addAuditList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list administrative acts, newest first')
    .option('--account <id>', 'of this account only')
    .option('--limit <count>', 'at most so many', wholeNumber({ min: 1, max: 100_000 }), 100)
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { account, limit, json }: Options): Promise<void> {
  await using db = await openServiceDatabase(shell.environment)
  const entries = await listAudit(db, { accountId: account, limit })
  if (json) {
    const views = entries.map(({ actedAt, actor, action, accountId, before, after }) => ({
      at: actedAt.toISOString(),
      actor,
      action,
      account_id: accountId,
      before,
      after,
    }))
    writeJson(shell, views)
    return
  }
  const rows = entries.map(({ actedAt, actor, action, accountId, before, after }) => [
    actedAt.toISOString(),
    actor,
    action,
    accountId ?? '-',
    factsText(before),
    factsText(after),
  ])
  shell.write(table(['when', 'who', 'what', 'account', 'before', 'after'], rows, shell))
}

/** Facts of an act as text: `plan pro, monthly credits 5000`. */
function factsText(facts: unknown): string {
  if (typeof facts !== 'object' || facts === null) return '-'
  const all = Object.entries(facts).map(
    ([name, value]) => `${name.replaceAll('_', ' ')} ${said(value)}`,
  )
  return all.join(', ') || '-'
}

function said(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(said).join(' and ')
  if (typeof value === 'object') return `(${factsText(value)})`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
