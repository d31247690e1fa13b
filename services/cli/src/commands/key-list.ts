import type { Command } from 'commander'
import type { KeyView } from '@plumbline/contract/keys'
import { keyViewOf } from '@plumbline/db/key-view'
import { listKeys } from '@plumbline/db/keys'
import { requireAccount } from '../accounts.ts'
import { jsonOption, keyOption } from '../arguments.ts'
import { openServiceClient, openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

interface Options {
  readonly key?: string
  readonly json: boolean
}

/** A key as the command shows it. */
type Listed = Omit<KeyView, 'prefix' | 'last4'> & { readonly key: string }

/**
 * `key list`: every key an account has had, newest first; that of the `--key` if no account is
 * given.
 */
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
  const views = id === undefined ? await ownKeys(shell, key) : await keysOf(shell, id)
  const keys: readonly Listed[] = views.map(({ prefix, last4, id: keyId, mode, ...times }) => ({
    id: keyId,
    mode,
    key: `${prefix}...${last4}`,
    ...times,
  }))
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

async function keysOf({ environment }: Shell, id: string): Promise<readonly KeyView[]> {
  await using db = await openServiceDatabase(environment)
  await requireAccount(db, id)
  return (await listKeys(db, id)).map(keyViewOf)
}

async function ownKeys(
  { environment, stop }: Shell,
  key: string | undefined,
): Promise<readonly KeyView[]> {
  const client = await openServiceClient(environment, key)
  return (await client.keys({ signal: stop })).data
}
