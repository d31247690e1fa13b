import type { Command } from 'commander'
import type { Plan } from '@plumbline/contract/plans'
import { listAccounts } from '@plumbline/db/accounts'
import { openAccount } from '@plumbline/metering/open-account'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, mailAddress } from '../arguments.ts'
import { findService, openDatabaseOf } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { facts } from '../table.ts'

interface Options extends Acting {
  readonly email: string
  readonly plan: Plan
  readonly timeZone?: string
  readonly json: boolean
}

/** `account create`: creates an account with its keys, which are shown once. */
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
  const location = await findService(cliSettings(shell.environment))
  await using db = openDatabaseOf(location)
  const wanted = { email, plan, ...(timeZone === undefined ? {} : { timeZone }) }
  const opened = await openAccount(db, {
    ...wanted,
    actor: actorOf(options),
    service: location.keyPrefix,
  })
  const made = { account_id: opened.id, live_key: opened.liveKey, test_key: opened.testKey }
  if (json) return writeJson(shell, made)
  shell.write(facts(made, shell))
  const others = (await listAccounts(db, OTHERS_SOUGHT, email))
    .filter((other) => other.id !== opened.id && other.email.toLowerCase() === email.toLowerCase())
    .map(({ id }) => id)
  if (others.length > 0) shell.tell(`This address has other accounts: ${others.join(', ')}.\n`)
}

/** Accounts with the address that are looked at for the note, the oldest first. */
const OTHERS_SOUGHT = 20
