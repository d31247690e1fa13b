import { hostname } from 'node:os'
import { openDatabase } from '@plumbline/db/database'
import { storeDoctorReport } from '@plumbline/db/doctor-report'
import type { Command } from 'commander'
import { jsonOption } from '../arguments.ts'
import type { Finding } from '../doctor/finding.ts'
import { findService } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

/** `doctor`: examines the settings and the outside services. */
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
  // What was under way then has failed by that alone.
  shell.stop.throwIfAborted()
  const failed = findings.some(({ status }) => status === 'failed')
  if (failed) shell.fail()
  // If the database is unreachable, the findings say so.
  await keep(shell, findings).catch(() => undefined)
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

/** Stores the findings for the operator's pages. */
async function keep(shell: Shell, findings: readonly Finding[]): Promise<void> {
  const { databaseUrl: url } = await findService(cliSettings(shell.environment))
  if (url === null) return
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'doctor' })
  await storeDoctorReport(db, { at: new Date().toISOString(), machine: hostname(), findings })
}
