import { createResolver } from '@plumbline/engines/net/resolver'
import type { Outside } from '../outside.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'

/** A name that any resolver of the public DNS knows something about. */
const KNOWN_NAME = 'gmail.com'

/** Asks each resolver by itself: the second must be able to stand in for the first. */
export async function examineDns(
  { egress, dnsServers }: Outside,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const rows = await Promise.all(
    dnsServers.map((server) =>
      attempt(`dns ${server}`, 'Correct DNS_SERVERS.', async () => {
        const resolver = createResolver({ servers: [server], egress })
        const startedAt = performance.now()
        const answer = await resolver.resolve(KNOWN_NAME, 'MX', { signal })
        const tookMs = Math.round(performance.now() - startedAt)
        if (answer.kind !== 'failed') return [ok(`dns ${server}`, `answers in ${tookMs} ms`)]
        const advice = 'Set DNS_SERVERS to resolvers that this machine may ask.'
        return [trouble(`dns ${server}`, 'failed', `no answer: ${answer.reason}`, advice)]
      }),
    ),
  )
  const findings = rows.flat()
  // One that answers keeps the service going.
  if (!findings.some(({ status }) => status === 'ok')) return findings
  return findings.map((finding) =>
    finding.status === 'failed' ? { ...finding, status: 'degraded' } : finding,
  )
}
