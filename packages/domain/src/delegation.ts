import type { DnsRecord, DnsReply } from '@plumbline/net/dns-message'
import { resolveAddresses } from '@plumbline/net/resolve-addresses'
import type { Resolver } from '@plumbline/net/resolver'

/** Reply of one name server of a zone to a query for its SOA record. */
export interface NameServerCheck {
  readonly server: string
  /**
   * `lame`: it replies but does not serve the zone. `recursive`: so does a resolver, which may have
   * replied in its place, as in networks that lead all queries to their own.
   */
  readonly verdict: 'authoritative' | 'lame' | 'recursive' | 'silent' | 'no_address' | 'forbidden'
}

/** The delegation of a zone. */
export interface Delegation {
  /**
   * `ok`: every queried server serves the zone. `partly_lame`: some do. `broken`: it is delegated
   * and none does. `absent`: not delegated. `unknown`: DNS failed.
   */
  readonly state: 'ok' | 'partly_lame' | 'broken' | 'absent' | 'unknown'
  readonly nameServers: readonly string[]
  readonly checks: readonly NameServerCheck[]
}

/** Settings and dependencies of checking a delegation. */
export interface DelegationOptions {
  readonly resolver: Resolver
  readonly signal: AbortSignal
  /** Port of name servers; 53 except in tests. */
  readonly port: number
}

/**
 * Servers of one zone that are queried. RFC 2182 section 5 advises three, seldom more than seven.
 */
const MAX_SERVERS = 4
const ASK_TIMEOUT_MS = 2_500

/**
 * Finds the name servers of a zone and queries each for its SOA. If the resolver cannot tell the
 * servers, one of the parent zone is queried, so that a broken delegation is distinguished from
 * none.
 */
export async function checkDelegation(
  zone: string,
  options: DelegationOptions,
): Promise<Delegation> {
  const { resolver, signal } = options
  const answer = await resolver.resolve(zone, 'NS', { signal })
  if (answer.kind === 'nxdomain' || answer.kind === 'nodata') return noServers('absent')
  const names = answer.kind === 'records' ? answer.records : await namesFromParent(zone, options)
  if (names === null) return noServers('unknown')
  if (names.length === 0) return noServers('absent')
  const nameServers = [...new Set(names)].toSorted()
  const asked = nameServers.slice(0, MAX_SERVERS)
  const checks = await Promise.all(asked.map((server) => checkServer(zone, server, options)))
  return { state: stateOf(checks, answer.kind === 'records'), nameServers, checks }
}

function stateOf(checks: readonly NameServerCheck[], resolves: boolean): Delegation['state'] {
  const good = checks.filter((check) => check.verdict === 'authoritative').length
  if (good === checks.length) return 'ok'
  if (good > 0) return 'partly_lame'
  // Silence may be our network's fault, as may replies of a resolver: some only allow queries to
  // their own.
  const answered = checks.some(
    (check) => check.verdict === 'lame' || check.verdict === 'no_address',
  )
  return resolves && !answered ? 'unknown' : 'broken'
}

async function checkServer(
  zone: string,
  server: string,
  options: DelegationOptions,
): Promise<NameServerCheck> {
  const { resolver, signal, port } = options
  const found = await resolveAddresses(resolver, server, { signal })
  if (found.kind === 'failed') return { server, verdict: 'silent' }
  if (found.kind !== 'addresses') return { server, verdict: 'no_address' }
  let verdict: NameServerCheck['verdict'] = 'silent'
  // One address of each family: a server counts as good when it answers on either.
  for (const address of firstOfEach(found.addresses)) {
    const limits = { signal, timeoutMs: ASK_TIMEOUT_MS }
    const answer = await resolver.ask({ address, port }, zone, 'SOA', limits)
    if (answer.kind === 'failed') {
      if (answer.reason === 'forbidden') verdict = 'forbidden'
    } else if (knowsZone(answer.reply, zone)) {
      return { server, verdict: 'authoritative' }
    } else {
      verdict = answer.reply.recursionAvailable ? 'recursive' : 'lame'
    }
  }
  return { server, verdict }
}

function knowsZone(reply: DnsReply, zone: string): boolean {
  return reply.code === 0 && reply.authoritative && reply.answers.some(isSoaOf(zone))
}

function isSoaOf(zone: string): (record: DnsRecord) => boolean {
  return (record) => record.type === 'SOA' && record.name === zone
}

function firstOfEach(addresses: readonly string[]): string[] {
  const v4 = addresses.find((address) => !address.includes(':'))
  const v6 = addresses.find((address) => address.includes(':'))
  return [v4, v6].filter((address) => address !== undefined)
}

/**
 * Names in the referral of the parent zone; empty if it denies the zone, null if it does not reply.
 */
async function namesFromParent(
  zone: string,
  options: DelegationOptions,
): Promise<readonly string[] | null> {
  const { resolver, signal, port } = options
  for (const server of (await serversAbove(zone, options)).slice(0, 2)) {
    const found = await resolveAddresses(resolver, server, { signal })
    const address = found.kind === 'addresses' ? found.addresses[0] : undefined
    if (address === undefined) continue
    const answer = await resolver.ask({ address, port }, zone, 'NS', {
      signal,
      timeoutMs: ASK_TIMEOUT_MS,
    })
    if (answer.kind === 'failed') continue
    const { code, authoritative, answers, authorities } = answer.reply
    if (code === 3) return []
    const names = [...authorities, ...answers].flatMap((record) =>
      record.type === 'NS' && record.name === zone ? [record.data] : [],
    )
    if (names.length > 0) return names
    if (code === 0 && authoritative) return []
  }
  return null
}

/**
 * Name servers of the closest zone above. A public suffix need not be a zone: JPRS has the names
 * below `co.jp` in that of `jp`. Empty if they cannot be found.
 */
async function serversAbove(
  zone: string,
  { resolver, signal }: DelegationOptions,
): Promise<readonly string[]> {
  for (let above = zone; above.includes('.');) {
    above = above.slice(above.indexOf('.') + 1)
    const answer = await resolver.resolve(above, 'NS', { signal })
    if (answer.kind === 'records') return answer.records
    if (answer.kind !== 'nodata') return []
  }
  return []
}

function noServers(state: 'absent' | 'unknown'): Delegation {
  return { state, nameServers: [], checks: [] }
}
