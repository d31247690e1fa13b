import { openDatabase } from '@plumbline/db/database'
import { readLastAudit, type AuditResult } from '@plumbline/metering/audit-run'
import type { ServiceLocation } from '../service.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 24 * HOUR_SECONDS
/** Seconds without an audit after which something is wrong: audits are daily, full ones monthly. */
const OLD_SECONDS = 2 * DAY_SECONDS
const WHOLE_OLD_SECONDS = 35 * DAY_SECONDS

/** Result and age of the last audit of the ledger. */
export async function examineLedger({ databaseUrl }: ServiceLocation): Promise<readonly Finding[]> {
  if (databaseUrl === null) return []
  return await attempt('ledger', 'Check DATABASE_URL and that Postgres runs.', async () => {
    await using db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'doctor' })
    return [findingOf(await readLastAudit(db))]
  })
}

const SEE_LOG = 'Workers of kind batch audit it; see their log.'

function findingOf(last: AuditResult | undefined): Finding {
  if (last === undefined) return trouble('ledger', 'degraded', 'never audited', SEE_LOG)
  const { ageSeconds, wholeAgeSeconds, faultCount, examples } = last
  const whole = wholeAgeSeconds === null ? 'never' : `${agoText(wholeAgeSeconds)} ago`
  const when = `audited ${agoText(ageSeconds)} ago, from its first entry on ${whole}`
  if (faultCount > 0) {
    const [first] = examples
    const met =
      first === undefined ? '' : `, such as "${first.rule}" (${first.accountId}: ${first.detail})`
    const advice =
      'Stop taking payments of the accounts that the log of the batch workers names, and compare with a backup.'
    const counted = faultCount === 1 ? '1 fault' : `${faultCount} faults`
    return trouble('ledger', 'failed', `${counted}${met}; ${when}`, advice)
  }
  const old = ageSeconds > OLD_SECONDS || (wholeAgeSeconds ?? Infinity) > WHOLE_OLD_SECONDS
  return old ? trouble('ledger', 'degraded', when, SEE_LOG) : ok('ledger', `right; ${when}`)
}

function agoText(seconds: number): string {
  if (seconds >= 2 * DAY_SECONDS) return `${Math.floor(seconds / DAY_SECONDS)} days`
  return seconds >= HOUR_SECONDS
    ? `${Math.floor(seconds / HOUR_SECONDS)} hours`
    : `${Math.floor(seconds / 60)} minutes`
}
