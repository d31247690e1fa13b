import { isIP } from 'node:net'
import { fetchBounded } from '@plumbline/net/http'
import type { Network } from '../network.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'
import type { DoctorSettings } from './settings.ts'

const TIMEOUT_MS = 10_000
const BOOTSTRAP_MAX_BYTES = 4 * 1024 * 1024

/** Sources of registrations: the list of RDAP servers, and the root of WHOIS referrals. */
export async function examineRegistries(
  network: Network,
  settings: DoctorSettings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const parts = await Promise.all([
    attempt('rdap', 'Correct RDAP_BOOTSTRAP_URL.', () => rdap(network, settings, signal)),
    attempt(
      'whois',
      'Have WHOIS_PORT opened outwards; domains without RDAP stay unknown until then.',
      () => whois(network, settings, signal),
    ),
  ])
  return parts.flat()
}

async function rdap(
  network: Network,
  { RDAP_BOOTSTRAP_URL: url }: DoctorSettings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { egress, resolver } = network
  const answer = await fetchBounded({
    url,
    maxBytes: BOOTSTRAP_MAX_BYTES,
    maxRedirects: 3,
    timeoutMs: TIMEOUT_MS,
    signal,
    egress,
    resolver,
  })
  if (answer.kind === 'response' && answer.status === 200) {
    return [ok('rdap', `list of servers read, ${answer.body.length} bytes`)]
  }
  const met =
    answer.kind === 'failed' ? `${answer.reason}, ${answer.detail}` : `status ${answer.status}`
  const advice = 'Have HTTPS opened outwards; the packaged list of servers serves until then.'
  return [trouble('rdap', 'degraded', `${url}: ${met}`, advice)]
}

async function whois(
  { egress, resolver }: Network,
  { WHOIS_SERVER: server, WHOIS_PORT: port }: DoctorSettings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const answer = isIP(server) === 0 ? await resolver.resolve(server, 'A', { signal }) : null
  const address = answer === null ? server : answer.kind === 'records' ? answer.records[0] : null
  if (address === null || address === undefined) throw new Error(`${server} does not resolve`)
  const socket = await egress.dial({ address, port, timeoutMs: TIMEOUT_MS, signal })
  socket.destroy()
  return [ok('whois', `${server} port ${port} reached`)]
}
