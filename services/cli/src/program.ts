import { Command, CommanderError } from 'commander'
import { addAccountCreate } from './commands/account-create.ts'
import { addAccountGrant } from './commands/account-grant.ts'
import { addAccountLimits } from './commands/account-limits.ts'
import { addAccountList } from './commands/account-list.ts'
import { addAccountPack } from './commands/account-pack.ts'
import { addAccountPlan } from './commands/account-plan.ts'
import { addAccountShow } from './commands/account-show.ts'
import { addAccountSpending } from './commands/account-spending.ts'
import { addAccountClose, addAccountResume, addAccountSuspend } from './commands/account-state.ts'
import { addAuditList } from './commands/audit-list.ts'
import { addBatchChange } from './commands/batch-change.ts'
import { addBatchMoves } from './commands/batch-moves.ts'
import { addBatchPreview } from './commands/batch-preview.ts'
import { addBatchKnown } from './commands/batch-known.ts'
import { addBatchSample } from './commands/batch-sample.ts'
import { addBatchCompare } from './commands/batch-compare.ts'
import { addBatchDelete } from './commands/batch-delete.ts'
import { addBatchList } from './commands/batch-list.ts'
import { addBatchRecheck } from './commands/batch-recheck.ts'
import { addBatchRescore } from './commands/batch-rescore.ts'
import { addBatchResults } from './commands/batch-results.ts'
import { addBatchRun } from './commands/batch-run.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { addDataUpdate } from './commands/data-update.ts'
import { addDoctor } from './commands/doctor.ts'
import { addErase } from './commands/erase.ts'
import { addErasureList } from './commands/erasure-list.ts'
import { addExport } from './commands/export.ts'
import { addKeyCreate } from './commands/key-create.ts'
import { addKeyList } from './commands/key-list.ts'
import { addKeyRevoke } from './commands/key-revoke.ts'
import { addLedger } from './commands/ledger.ts'
import { addLookUp } from './commands/look-up.ts'
import { addMcp } from './commands/mcp.ts'
import { addPackList } from './commands/pack-list.ts'
import { addPackSet } from './commands/pack-set.ts'
import { addPlanList } from './commands/plan-list.ts'
import { addPlanSet } from './commands/plan-set.ts'
import { addScore } from './commands/score.ts'
import { addUsage } from './commands/usage.ts'
import { addUserOperator } from './commands/user-operator.ts'
import { addUserLink } from './commands/user-link.ts'
import { addUserSignOut } from './commands/user-sign-out.ts'
import { failureOf } from './failure.ts'
import { styled, type Shell } from './shell.ts'

/**
 * Runs one command.
 *
 * @param words the arguments
 * @returns exit status: 0, 1 on failure, 2 on wrong usage, 130 if interrupted by Ctrl-C
 */
export async function runCli(words: readonly string[], shell: Shell): Promise<number> {
  try {
    await createProgram(shell).parseAsync([...words], { from: 'user' })
    return 0
  } catch (error) {
    // Help that was asked for is an exit of commander's too, with status 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { message, status } = failureOf(error)
    const screen = { hasColors: shell.hasColors && shell.redraws }
    shell.tell(`${styled(screen, 'red', message)}\n`)
    return status
  }
}

function createProgram(shell: Shell): Command {
  const program = new Command('plumbline')
    .description('Accounts, keys, lookups and batches of a Plumbline service')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => shell.write(text),
      writeErr: (text) => shell.tell(text),
    })
  const account = program.command('account').description('accounts, their plans and credits')
  for (const add of [
    addAccountCreate,
    addAccountList,
    addAccountShow,
    addAccountPlan,
    addAccountPack,
    addAccountGrant,
    addAccountLimits,
    addAccountSpending,
    addAccountSuspend,
    addAccountResume,
    addAccountClose,
  ]) {
    add(account, shell)
  }
  const plan = program.command('plan').description('plans: credits a month, prices and limits')
  for (const add of [addPlanList, addPlanSet]) add(plan, shell)
  const pack = program.command('pack').description('add-on packs and their prices')
  for (const add of [addPackList, addPackSet]) add(pack, shell)
  const key = program.command('key').description('API keys, one of each mode for an account')
  for (const add of [addKeyCreate, addKeyList, addKeyRevoke]) add(key, shell)
  const user = program.command('user').description('users of the web app')
  for (const add of [addUserLink, addUserOperator, addUserSignOut]) add(user, shell)
  addAuditList(program.command('audit').description('what was done to accounts and keys'), shell)
  addLookUp(program, shell)
  addUsage(program, shell)
  addLedger(program, shell)
  const batch = program
    .command('batch')
    .description('files of many records, processed in the background')
  for (const add of [
    addBatchRun,
    addBatchList,
    addBatchMoves,
    addBatchPreview,
    addBatchChange,
    addBatchSample,
    addBatchKnown,
    addBatchResults,
    addBatchRecheck,
    addBatchRescore,
    addBatchCompare,
    addBatchDelete,
  ]) {
    add(batch, shell)
  }
  addWebhookCommands(program.command('webhook').description('endpoints that receive events'), shell)
  addScore(program, shell)
  addErase(program, shell)
  addErasureList(program.command('erasure').description('receipts of erasures'), shell)
  addExport(program, shell)
  addDataUpdate(program.command('data').description('reference lists and IP databases'), shell)
  addMcp(program, shell)
  addDoctor(program, shell)
  return program
}
