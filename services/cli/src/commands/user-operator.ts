import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction } from '@plumbline/db/database'
import { findUser, setOperator } from '@plumbline/db/people/users'
import { emailKeyOf } from '@plumbline/people/email-key'
import type { Command } from 'commander'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { mailAddress } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting {
  readonly revoke: boolean
}

/** `user operator`: allows a user to see the operator's pages, or ends that. */
export function addUserOperator(parent: Command, shell: Shell): void {
  parent
    .command('operator')
    .description('let a user see the operator’s pages on the admin port')
    .argument('<email>', 'address of the user', mailAddress)
    .option('--revoke', 'not any more', false)
    .addOption(asOption())
    .action((email: string, options: Options) => run(shell, email, options))
}

async function run(shell: Shell, email: string, options: Options): Promise<void> {
  const isOperator = !options.revoke
  await using db = await openServiceDatabase(shell.environment)
  await inTransaction(db, async (tx) => {
    const user = await findUser(tx, emailKeyOf(email))
    if (user === undefined) {
      throw new Refusal(
        `Nobody signs in as ${email}; they sign up first, or "user link" lets them in.`,
      )
    }
    await setOperator(tx, user.id, isOperator)
    await writeAudit(tx, {
      actor: actorOf(options),
      action: 'user.operator',
      accountId: null,
      before: { user_id: user.id, is_operator: user.isOperator },
      after: { user_id: user.id, is_operator: isOperator },
    })
  })
  shell.write(
    isOperator
      ? `${email} is an operator: /operator on the admin port, signed in to the app in the same browser.\n`
      : `${email} is no operator any more.\n`,
  )
}
