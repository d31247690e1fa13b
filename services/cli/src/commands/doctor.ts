import type { Command } from 'commander'
import { jsonOption } from '../arguments.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

/** `doctor`: what of the settings and of the outside world works. */
export function addDoctor(parent: Command, shell: Shell): void {
  parent
    .command('doctor')
    .description(
      'test settings, service, disk, data and the way out; status 1 when something failed',
    )
    .addOption(jsonOption())
    .action((options: { readonly json: boolean }) => run(shell, options))
}

async function run(shell: Shell, { json }: { readonly json: boolean }): Promise<void> {
  // The engines take longer to load than other commands take to run.
  const { examine } = await import('../doctor/examine.ts')
  const findings = await examine(shell.environment, shell.stop)
  const failed = findings.some(({ status }) => status === 'failed')
  if (failed) shell.fail()
  if (json) {
    writeJson(shell, { ok: !failed, findings })
    return
  }
  const rows = findings.map(({ name, status, detail }) => [status, name, detail])
  shell.write(table(['state', 'what', 'detail'], rows, shell))
  const todo = findings.filter(({ advice }) => advice !== null)
  if (todo.length === 0) return
  shell.write('\nWhat to do:\n')
  for (const { name, advice } of todo) shell.write(`  ${name}: ${String(advice)}\n`)
}
