import { listPacks } from '@plumbline/db/offers'
import type { Command } from 'commander'
import { jsonOption } from '../arguments.ts'
import { priceText } from '../price-text.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

/** `pack list`: the add-on packs with their credits and prices. */
export function addPackList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list add-on packs')
    .addOption(jsonOption())
    .action((options: { readonly json: boolean }) => run(shell, options))
}

async function run(shell: Shell, { json }: { readonly json: boolean }): Promise<void> {
  await using db = await openServiceDatabase(shell.environment)
  const packs = await listPacks(db)
  if (json) {
    writeJson(shell, packs)
    return
  }
  const rows = packs.map(({ pack, credits, price_cents, is_offered }) => [
    pack,
    String(credits),
    priceText(price_cents),
    is_offered ? 'yes' : 'no',
  ])
  shell.write(table(['pack', 'credits', 'price', 'offered'], rows, shell))
}
