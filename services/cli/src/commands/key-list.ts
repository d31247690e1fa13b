import type { Command } from 'commander'
import type { KeyView } from '@plumbline/contract/keys'
import { listKeys } from '@plumbline/db/keys'
import { requireAccount } from '../accounts.ts'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient, openServiceDatabase } from '../service.ts'
import { cliSettings, type CliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

/** A key as the command shows it. */
type Listed = Omit<KeyView, 'prefix' | 'last4'> & { readonly key: string }

/** `key list`: every key an account has had, newest first; of the account of a key where none is named. */
export function addKeyList(parent: Command, shell: Shell): void {
  parent
    .command('list')
    .description('list keys, newest first; never the keys themselves')
    .argument('[id]', 'account, for its operator (default: that of --key or PLUMBLINE_KEY)')
    .addOption(keyOption())
    .addOption(jsonOption())
    .action((id: string | undefined, options: Options) => run(shell, id, options))
}

async function run(shell: Shell, id: string | undefined, { key, json }: Options): Promise<void> {
  const settings = cliSettings(shell.environment)
  const keys =
    id === undefined ? await ownKeys(settings, key, shell.stop) : await keysOf(settings, id)
  if (json) {
    writeJson(shell, keys)
    return
  }
  const rows = keys.map(({ key: shown, mode, created_at, last_used_at, revoked_at }) => [
    shown,
    mode,
    revoked_at === null ? 'active' : 'revoked',
    created_at,
    last_used_at ?? '-',
  ])
  shell.write(table(['key', 'mode', 'state', 'created', 'last used'], rows, shell))
}

async function keysOf(settings: CliSettings, id: string): Promise<readonly Listed[]> {
  await using db = await openServiceDatabase(settings)
  await requireAccount(db, id)
  return (await listKeys(db, id)).map((key) => ({
    id: key.id,
    mode: key.mode,
    key: `${key.prefix}...${key.last4}`,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }))
}

async function ownKeys(
  settings: CliSettings,
  key: string | undefined,
  signal: AbortSignal,
): Promise<readonly Listed[]> {
  const client = await openServiceClient(settings, key)
  const { data } = await client.keys({ signal })
  return data.map(({ prefix, last4, id, mode, ...times }) => ({
    id,
    mode,
    key: `${prefix}...${last4}`,
    ...times,
  }))
}
