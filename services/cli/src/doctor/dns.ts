import { createResolver } from '@plumbline/net/resolver'
import { rootFault } from '@plumbline/net/root-fault'
import type { Network } from '../network.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'

/** A name whose MX records every resolver of the public DNS finds. */
const KNOWN_NAME = 'gmail.com'

/** Queries each resolver separately: the second must be able to replace the first. */
export async function examineDns(
  { egress, dnsServers }: Network,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const rows = await Promise.all(
    dnsServers.map((server) =>
      attempt(`dns ${server}`, 'Correct DNS_SERVERS.', async () => {
        const resolver = createResolver({ servers: [server], egress })
        const startedAt = performance.now()
        const answer = await resolver.resolve(KNOWN_NAME, 'MX', { signal })
        const tookMs = Math.round(performance.now() - startedAt)
        if (answer.kind === 'records') return [ok(`dns ${server}`, `answers in ${tookMs} ms`)]
        const advice = 'Set DNS_SERVERS to resolvers of the public DNS that this machine may ask.'
        if (answer.kind === 'failed' && answer.reason !== 'no_root') {
          return [trouble(`dns ${server}`, 'failed', `no answer: ${answer.reason}`, advice)]
        }
        const fault = await rootFault(resolver, signal)
        return fault === null
          ? [trouble(`dns ${server}`, 'degraded', `answers, and knows no ${KNOWN_NAME}`, advice)]
          : [trouble(`dns ${server}`, 'failed', fault, advice)]
      }),
    ),
  )
  const findings = rows.flat()
  // One that answers keeps the service going.
  if (findings.every(({ status }) => status === 'failed')) return findings
  return findings.map((finding) =>
    finding.status === 'failed' ? { ...finding, status: 'degraded' } : finding,
  )
}
