import type { Command } from 'commander'
import type { Plan } from '@plumbline/contract/plans'
import { createAccount } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction } from '@plumbline/db/database'
import { createAuditedKey } from '../accounts.ts'
import { requirePlan } from '@plumbline/db/offers'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, mailAddress } from '../arguments.ts'
import { findService, openServiceDatabase } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options extends Acting {
  readonly email: string
  readonly plan: Plan
  readonly timeZone?: string
  readonly json: boolean
}

/** `account create`: an account with its keys, which are shown this once. */
export function addAccountCreate(parent: Command, shell: Shell): void {
  parent
    .command('create')
    .description('make an account with its keys; they are shown only now')
    .requiredOption('--email <address>', 'how to reach the owner', mailAddress)
    .option('--plan <plan>', 'plan of the account; "plan list" shows those there are', 'free')
    .option('--time-zone <name>', 'IANA name, for when billing cycles turn (default: UTC)')
    .addOption(asOption())
    .addOption(jsonOption())
    .action((options: Options) => run(shell, options))
}

async function run(shell: Shell, options: Options): Promise<void> {
  const { email, plan, timeZone, json } = options
  const settings = cliSettings(shell.environment)
  const { keyPrefix } = await findService(settings)
  await using db = await openServiceDatabase(settings)
  const wanted = { email, plan, ...(timeZone === undefined ? {} : { timeZone }) }
  const actor = actorOf(options)
  const { test_keys: hasTestKeys } = await requirePlan(db, plan)
  const made = await inTransaction(db, async (tx) => {
    const { id, timeZone: zone } = await createAccount(tx, wanted)
    await writeAudit(tx, {
      actor,
      action: 'account.create',
      accountId: id,
      before: null,
      after: { plan, time_zone: zone },
    })
    const keyOf = async (mode: 'live' | 'test'): Promise<string> =>
      await createAuditedKey(tx, { accountId: id, mode, service: keyPrefix }, actor)
    const live = await keyOf('live')
    const test = hasTestKeys ? await keyOf('test') : null
    return { account_id: id, live_key: live, test_key: test }
  })
  if (json) writeJson(shell, made)
  else shell.write(facts(made, shell))
}
