import type { EngineHealth } from '@plumbline/ports/engine'
import { runSelfTest, SELF_TEST_TARGETS } from '@plumbline/email/self-test'
import type { Network } from '../network.ts'
import { attempt, trouble, type Finding } from './finding.ts'
import type { DoctorSettings } from './settings.ts'

const TIMEOUT_MS = 10_000

/**
 * Whether mail hosts can be reached and will trust us: port, HELO name, PTR record, SPF of the
 * sender, block lists.
 */
export async function examineMail(
  { egress, resolver }: Network,
  settings: DoctorSettings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (!settings.SMTP_PROBING) {
    const advice = 'Set SMTP_PROBING=true to have mailboxes asked for.'
    return [trouble('smtp', 'off', 'no handshakes: verdicts by DNS and lists only', advice)]
  }
  return await attempt('smtp', 'Correct the SMTP settings.', async () => {
    const { health } = await runSelfTest({
      egress,
      resolver,
      port: settings.SMTP_PORT,
      heloName: settings.heloName,
      mailFrom: settings.SMTP_MAIL_FROM ?? `verify@${settings.heloName}`,
      sourceAddresses: settings.SMTP_SOURCE_ADDRESSES,
      dnsbl: settings.SMTP_DNS_LISTS,
      targets: SELF_TEST_TARGETS,
      timeoutMs: TIMEOUT_MS,
      signal,
    })
    return withReverse(health.map((row) => advised(row, settings)))
  })
}

function advised(row: EngineHealth, settings: DoctorSettings): Finding {
  if (row.status === 'ok') return { ...row, advice: null }
  if (row.name.startsWith('smtp port')) {
    if (settings.SMTP_PROXY_URL !== undefined) {
      const detail = `${row.detail} directly; SMTP_PROXY_URL is used instead`
      return { ...row, status: 'degraded', detail, advice: 'Test the proxy from its own machine.' }
    }
    const closed =
      'Have the provider open the port outwards, set SMTP_PROXY_URL, or set SMTP_PROBING=false.'
    return { ...row, advice: row.status === 'failed' ? closed : 'Have DNS answer first.' }
  }
  return { ...row, advice: adviceFor(row.name, settings.heloName) }
}

function adviceFor(name: string, heloName: string): string {
  if (name === 'smtp helo name') {
    return `Set SMTP_HELO_NAME to a name with an A record of our address (now ${heloName}).`
  }
  if (name.startsWith('reverse name')) {
    return 'Have the provider of the address set its PTR record to SMTP_HELO_NAME.'
  }
  if (name.startsWith('spf')) {
    return 'Set SMTP_MAIL_FROM to a domain of ours, with an SPF record that names our address.'
  }
  return 'Ask the operator of that list.'
}

function withReverse(rows: readonly Finding[]): readonly Finding[] {
  if (rows.some(({ name }) => name.startsWith('reverse name'))) return rows
  const advice = 'Set SMTP_SOURCE_ADDRESSES to the public address that mail hosts see.'
  const detail = 'our public address is not known, so its PTR record was not looked at'
  return [...rows, trouble('reverse name', 'degraded', detail, advice)]
}
