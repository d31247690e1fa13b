import type { Command } from 'commander'
import { listKeys } from '@plumbline/db/keys'
import { readBalance, readPacks } from '@plumbline/metering/balance'
import { requireAccount } from '../accounts.ts'
import { jsonOption } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

/** `account show`: plan, credits and active keys of an account. */
export function addAccountShow(parent: Command, shell: Shell): void {
  parent
    .command('show')
    .description('show plan, credits, packs and active keys')
    .argument('<id>', 'account')
    .addOption(jsonOption())
    .action((id: string, options: { readonly json: boolean }) => run(shell, id, options))
}

async function run(shell: Shell, id: string, { json }: { readonly json: boolean }): Promise<void> {
  await using db = await openServiceDatabase(shell.environment)
  const account = await requireAccount(db, id)
  const balance = await readBalance(db, id)
  if (balance === undefined) throw new Refusal(`The account ${id} has no balance.`)
  const packs = await readPacks(db, id)
  const keys = (await listKeys(db, id)).filter((key) => key.revokedAt === null)
  const view = {
    account_id: id,
    email: account.email,
    status: account.status,
    status_reason: account.statusReason,
    plan: balance.plan,
    next_plan: balance.nextPlan,
    time_zone: account.timeZone,
    created_at: account.createdAt.toISOString(),
    credits: {
      available: balance.available,
      allowance: balance.allowance,
      packs: balance.packs,
      held: balance.held,
      resets_at: balance.resetsAt.toISOString(),
    },
    packs: packs.map(({ kind, name, credits, left, grantedAt }) => ({
      kind,
      name,
      credits,
      left,
      granted_at: grantedAt.toISOString(),
    })),
    keys: keys.map(({ mode, prefix, last4, lastUsedAt }) => ({
      mode,
      key: `${prefix}...${last4}`,
      last_used_at: lastUsedAt?.toISOString() ?? null,
    })),
  }
  if (json) writeJson(shell, view)
  else shell.write(facts(view, shell))
}
