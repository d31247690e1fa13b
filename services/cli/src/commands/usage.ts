import { USAGE_PARTS, type UsagePart, type UsageView } from '@plumbline/contract/usage'
import { InvalidArgumentError, type Command } from 'commander'
import { given } from '../given.ts'
import { serviceCommand, showResponse, type ServiceOptions } from '../service-command.ts'
import type { Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options extends ServiceOptions {
  readonly from?: string
  readonly to?: string
  readonly by: readonly UsagePart[]
}

/** `usage`: shows the usage of a key's account. */
export function addUsage(parent: Command, shell: Shell): void {
  serviceCommand(
    parent,
    'usage',
    'show operations and credits of the account by day, product and source',
  )
    .option('--from <day>', 'first day, such as 2026-11-01 (default: 29 days before the last)')
    .option('--to <day>', 'last day (default: today)')
    .option('--by <parts>', `some of ${USAGE_PARTS.join(', ')}, separated by commas`, usageParts, [
      'day',
    ])
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { from, to, by, ...options }: Options): Promise<void> {
  const asked = given({ by, from, to })
  await showResponse(
    shell,
    options,
    (client, call) => client.usage(asked, call),
    (usage) => textOf(usage, shell),
  )
}

function textOf(usage: UsageView, shell: Shell): string {
  const rows = usage.data.map((row) => [
    ...usage.by.map((part) => row[part] ?? '-'),
    String(row.operations),
    String(row.credits),
  ])
  const { operations, credits } = usage.total
  const shown = table([...usage.by, 'operations', 'credits'], rows, shell)
  const days = `${usage.from} to ${usage.to} (${usage.time_zone})`
  return `${shown}${days}: ${operations} operations, ${credits} credits.\n`
}

function usageParts(text: string): readonly UsagePart[] {
  const wanted = text.split(',')
  const known = USAGE_PARTS.filter((part) => wanted.includes(part))
  if (known.length === wanted.length) return known
  throw new InvalidArgumentError(`Expected some of ${USAGE_PARTS.join(', ')}, separated by commas.`)
}
