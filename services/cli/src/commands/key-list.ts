import type { Command } from 'commander'
import { listKeys } from '@plumbline/db/keys'
import { requireAccount } from '../accounts.ts'
import { jsonOption } from '../arguments.ts'
import { openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

/** `key list`: every key an account has had, newest first. */
export function addKeyList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list keys, newest first; never the keys themselves')
    .argument('<id>', 'account')
    .addOption(jsonOption())
    .action((id: string, options: { readonly json: boolean }) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { json }: { readonly json: boolean }): Promise<void> {
  await using db = await openServiceDatabase(cliSettings(shell.environment))
  await requireAccount(db, id)
  const keys = (await listKeys(db, id)).map((key) => ({
    id: key.id,
    mode: key.mode,
    key: `${key.prefix}...${key.last4}`,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }))
  if (json) {
    writeJson(shell, keys)
    return
  }
  const rows = keys.map(({ key, mode, created_at, last_used_at, revoked_at }) => [
    key,
    mode,
    revoked_at === null ? 'active' : 'revoked',
    created_at,
    last_used_at ?? '-',
  ])
  shell.write(table(['key', 'mode', 'state', 'created', 'last used'], rows, shell))
}
