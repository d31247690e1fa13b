import { readDoctorReport, type DoctorReport } from '@plumbline/db/doctor-report'
import { readWorkers } from '@plumbline/db/workers'
import { readLastAudit } from '@plumbline/metering/audit-run'
import { depth } from '@plumbline/queue/jobs'
import { QUEUE_NAMES } from '@plumbline/queue/names'
import type { Context } from '../context.ts'
import { checkReadiness } from '../readiness.ts'
import { html, table, type Html } from './html.ts'

/** The page of the queues, with the number of waiting jobs in each. */
export async function queuesPage(ctx: Context): Promise<Html> {
  const rows = await Promise.all(
    QUEUE_NAMES.map(async (name) => {
      const { waiting, active } = await depth(ctx.pipeline.queue, name)
      return [name, waiting, active] as const
    }),
  )
  return html`${table(['Queue', 'Waiting', 'Worked on'], rows)}
    <p><a href="/operator/board">Bull Board</a> shows the jobs of queues on Redis.</p>`
}

/**
 * The page of the service itself: its dependencies, its ledger, and the workers with their
 * dependencies.
 */
export async function workersPage(ctx: Context): Promise<Html> {
  const [report, workers, checks, audit] = await Promise.all([
    readDoctorReport(ctx.db),
    readWorkers(ctx.db),
    checkReadiness(ctx),
    readLastAudit(ctx.db),
  ])
  const rows = workers.flatMap(({ name, kind, ageMs, health }) =>
    health.map((one) => [name, kind, `${Math.round(ageMs / 1_000)} s`, one.name, one.status]),
  )
  const ledger =
    audit === undefined
      ? 'The ledger has not been audited yet.'
      : `The last audit of the ledger found ${audit.faultCount} faults, ${Math.round(audit.ageSeconds / 60)} minutes ago.`
  return html`${table(
      ['What', 'State'],
      checks.map((check) => [check.name, check.ok ? 'ok' : 'failed']),
    )}
    <p>${ledger}</p>
    <h2>Workers</h2>
    ${table(['Worker', 'Kind', 'Heard', 'Leans on', 'State'], rows)}
    <h2>What "doctor" says</h2>
    ${doctorSays(report)}`
}

function doctorSays(report: DoctorReport | undefined): Html {
  if (report === undefined) {
    return html`<p>
      Nobody asked in the last 30 days. Run "doctor" on the command line: it tests the way out, disk
      and data of the machine that it runs on.
    </p>`
  }
  const { at, machine, findings } = report
  return html`<p>It was asked on ${machine} at ${at}; the command asks again.</p>
    ${table(
      ['State', 'What', 'Detail', 'What to do'],
      findings.map(({ status, name, detail, advice }) => [status, name, detail, advice ?? '-']),
    )}`
}
