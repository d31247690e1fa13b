import { findUser } from '@plumbline/db/people/users'
import { emailKeyOf } from '@plumbline/people/email-key'
import { signOutPeople } from '@plumbline/people/sign-out'
import type { Command } from 'commander'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { mailAddress } from '../arguments.ts'
import { Refusal, UsageError } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting {
  readonly all: boolean
}

/** `user sign-out`: ends the sessions of a user, or of everybody. */
export function addUserSignOut(parent: Command, shell: Shell): void {
  parent
    .command('sign-out')
    .description('end all sessions of a user; they are refused within a second')
    .argument('[email]', 'address of the user', mailAddress)
    .option('--all', 'of everybody', false)
    .addOption(asOption())
    .action((email: string | undefined, options: Options) => run(shell, email, options))
}

async function run(shell: Shell, email: string | undefined, options: Options): Promise<void> {
  if ((email === undefined) !== options.all) {
    throw new UsageError('Name one user by their address, or everybody by --all.')
  }
  await using db = await openServiceDatabase(shell.environment)
  const user = email === undefined ? undefined : await findUser(db, emailKeyOf(email))
  if (email !== undefined && user === undefined) throw new Refusal(`Nobody signs in as ${email}.`)
  const actor = actorOf(options)
  const count = await signOutPeople(db, { actor, userId: user?.id ?? null })
  shell.write(`${count} ${count === 1 ? 'session has' : 'sessions have'} ended.\n`)
}
