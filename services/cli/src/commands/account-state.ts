import { SUSPENSION_REASON_CHARS } from '@plumbline/contract/plans'
import { closeAccount, resumeAccount, suspendAccount } from '@plumbline/metering/administer'
import type { Command } from 'commander'
import { requireAccount } from '../accounts.ts'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { UsageError } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

/** `account suspend`: refuses the calls of an account, and dispatches no task of its batches. */
export function addAccountSuspend(parent: Command, shell: Shell): void {
  parent
    .command('suspend')
    .description('refuse the calls of an account, and let its batches wait')
    .argument('<id>', 'account')
    .option('--reason <text>', 'why, as its users are told')
    .addOption(asOption())
    .action(async (id: string, options: Acting & { readonly reason?: string }) => {
      const reason = options.reason ?? null
      if (reason !== null && (reason.trim() === '' || reason.length > SUSPENSION_REASON_CHARS)) {
        throw new UsageError(`A reason has 1 to ${SUSPENSION_REASON_CHARS} characters.`)
      }
      await using db = await openServiceDatabase(shell.environment)
      await requireAccount(db, id)
      await suspendAccount(db, { actor: actorOf(options), accountId: id, reason })
      shell.write(`${id} is suspended: its calls are refused and its batches wait.\n`)
    })
}

/** `account resume`: lifts a suspension. */
export function addAccountResume(parent: Command, shell: Shell): void {
  parent
    .command('resume')
    .description('lift the suspension of an account; its batches go on')
    .argument('<id>', 'account')
    .addOption(asOption())
    .action(async (id: string, options: Acting) => {
      await using db = await openServiceDatabase(shell.environment)
      await requireAccount(db, id)
      await resumeAccount(db, { actor: actorOf(options), accountId: id })
      shell.write(`${id} is active.\n`)
    })
}

/** `account close`: closes an account for good. */
export function addAccountClose(parent: Command, shell: Shell): void {
  parent
    .command('close')
    .description('end an account for good: keys and sessions at once, its data within a day')
    .argument('<id>', 'account')
    .option('--yes', 'confirm: this cannot be undone', false)
    .addOption(asOption())
    .action(async (id: string, options: Acting & { readonly yes: boolean }) => {
      if (!options.yes) throw new UsageError('Closing an account cannot be undone; add --yes.')
      await using db = await openServiceDatabase(shell.environment)
      await requireAccount(db, id)
      await closeAccount(db, { actor: actorOf(options), accountId: id })
      shell.write(`${id} is closed: its keys and sessions have ended, its data are being erased.\n`)
    })
}
