import { USAGE_PARTS, type UsagePart } from '@plumbline/contract/usage'
import { InvalidArgumentError, type Command } from 'commander'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly from?: string
  readonly to?: string
  readonly by: readonly UsagePart[]
  readonly key?: string
  readonly json: boolean
}

/** `usage`: what the account of a key used. */
export function addUsage(parent: Command, shell: Shell): void {
  parent
    .command('usage')
    .description('show operations and credits of the account by day, product and source')
    .option('--from <day>', 'first day, such as 2026-11-01 (default: 29 days before the last)')
    .option('--to <day>', 'last day (default: today)')
    .option('--by <parts>', `some of ${USAGE_PARTS.join(', ')}, parted by commas`, usageParts, [
      'day',
    ])
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, { from, to, by, key, json }: Options): Promise<void> {
  const client = await openServiceClient(cliSettings(shell.environment), key)
  const asked = { by, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  const usage = await client.usage(asked, { signal: shell.stop })
  if (json) {
    writeJson(shell, usage)
    return
  }
  const rows = usage.data.map((row) => [
    ...usage.by.map((part) => row[part] ?? '-'),
    String(row.operations),
    String(row.credits),
  ])
  const { operations, credits } = usage.total
  shell.write(table([...usage.by, 'operations', 'credits'], rows, shell))
  shell.write(
    `${usage.from} to ${usage.to} (${usage.time_zone}): ${operations} operations, ${credits} credits.\n`,
  )
}

function usageParts(text: string): readonly UsagePart[] {
  const wanted = text.split(',')
  const known = USAGE_PARTS.filter((part) => wanted.includes(part))
  if (known.length === wanted.length) return known
  throw new InvalidArgumentError(`Expected some of ${USAGE_PARTS.join(', ')}, parted by commas.`)
}
