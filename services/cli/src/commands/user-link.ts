import type { Command } from 'commander'
import type { Account } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction } from '@plumbline/db/database'
import { newAccessCode } from '@plumbline/people/welcome'
import { isLoopbackName } from '@plumbline/runtime/host-header'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { jsonOption, mailAddress } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { findService, openDatabaseOf } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'

interface Options extends Acting {
  readonly account?: string
  readonly json: boolean
}

/**
 * `user link`: a link by which a user sets a new password, or becomes owner of an account without
 * members.
 */
export function addUserLink(parent: Command, shell: Shell): void {
  parent
    .command('link')
    .description('make a link that signs a user in once, within an hour, to choose a password')
    .argument('<email>', 'address of the user', mailAddress)
    .option('--account <id>', 'account that somebody new becomes the owner of')
    .addOption(asOption())
    .addOption(jsonOption())
    .action((email: string, options: Options) => run(shell, email, options))
}

async function run(shell: Shell, email: string, options: Options): Promise<void> {
  const { account, json } = options
  const settings = cliSettings(shell.environment)
  const location = await findService(settings)
  const base = settings.PUBLIC_URL ?? location.url
  if (base === null) {
    throw new Refusal('The address of the service is not known; start it, or set PUBLIC_URL.')
  }
  const isLocalOnly = settings.PUBLIC_URL === undefined
  if (isLocalOnly && !isLoopbackName(new URL(base).hostname)) {
    throw new Refusal(
      `Browsers sign in by HTTPS or on the machine of the service, not at ${base}; set PUBLIC_URL.`,
    )
  }
  await using db = openDatabaseOf(location)
  if (account !== undefined) refuseClosed(await requireAccount(db, account))
  const link = await inTransaction(db, async (tx) => {
    const made = await newAccessCode(tx, {
      email,
      ...(account === undefined ? {} : { accountId: account }),
      isLocalOnly,
    })
    if (made === undefined) {
      throw new Refusal(
        `Nobody signs in as ${email}, and each account has a member; name one by --account.`,
      )
    }
    await writeAudit(tx, {
      actor: actorOf(options),
      action: 'user.link',
      accountId: made.accountId,
      before: null,
      after: { user_id: made.userId },
    })
    return `${base.replace(/\/$/, '')}/app/welcome#${made.secret}`
  })
  if (json) writeJson(shell, { link })
  else shell.write(`${link}\n`)
}

function refuseClosed({ id, status }: Account): void {
  if (status !== 'closed') return
  throw new Refusal(`The account ${id} is closed for good; "account create" makes another.`)
}
