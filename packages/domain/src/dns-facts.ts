import { randomBytes } from 'node:crypto'
import type { MxRecord } from '@plumbline/net/dns-message'
import type { DnsCaller, Resolver } from '@plumbline/net/resolver'
import type { DnsAnswer } from '@plumbline/net/dns-answer'
import type { DelegationCache } from './delegation-cache.ts'
import type { Delegation } from './delegation.ts'
import type { DomainName } from './name.ts'

/** Facts of a name from DNS; a fact is null if DNS failed. */
export interface DnsFacts {
  readonly addresses: readonly string[]
  /** Last name of the CNAME chain. */
  readonly cname: string | null
  readonly mx: readonly MxRecord[]
  /** Whether the name has a null MX and so accepts no mail (RFC 7505). */
  readonly nullMx: boolean
  readonly mxFound: boolean | null
  /** Whether an A, AAAA or MX record exists. */
  readonly resolves: boolean | null
  /** Whether the name's records exist but fail DNSSEC validation. */
  readonly bogus: boolean
  /** Whether a random label resolves too. */
  readonly wildcard: boolean | null
  /**
   * Whether our resolver does not know the DNS root: its denials and failures then prove nothing.
   */
  readonly unavailable: boolean
  /** Of the registrable domain. */
  readonly delegation: Delegation
}

/** Settings and dependencies of the queries. */
export interface DnsFactsOptions {
  readonly resolver: Resolver
  readonly caller: DnsCaller
  readonly signal: AbortSignal
  readonly delegationOf: DelegationCache
  readonly nameServerPort: number
}

/** Runs all queries that the outcome needs, in parallel. */
export async function lookUpDns(name: DomainName, options: DnsFactsOptions): Promise<DnsFacts> {
  const { resolver, caller, signal, delegationOf } = options
  const port = options.nameServerPort
  const [a, aaaa, mx, delegation, wildcard] = await Promise.all([
    resolver.resolve(name.ascii, 'A', { signal }),
    resolver.resolve(name.ascii, 'AAAA', { signal }),
    resolver.resolve(name.ascii, 'MX', { signal }),
    delegationOf(name.registrable, caller, { resolver, signal, port }),
    hasWildcard(name.ascii, resolver, signal),
  ])
  const exchanges = mx.kind === 'records' ? mx.records : []
  const usable = exchanges.filter((record) => record.exchange !== '.')
  const addresses = [a, aaaa].flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
  const answers = [a, aaaa, mx]
  return {
    addresses,
    cname: cnameOf(a) ?? cnameOf(aaaa),
    mx: usable.toSorted((one, other) => one.preference - other.preference),
    nullMx: exchanges.length > 0 && usable.length === 0,
    mxFound: mx.kind === 'failed' ? null : usable.length > 0,
    resolves: resolvesOf(answers, addresses.length + usable.length, delegation),
    bogus: await isBogus(name.ascii, answers, resolver, signal),
    wildcard,
    unavailable: answers.some((each) => each.kind === 'failed' && each.reason === 'no_root'),
    delegation,
  }
}

// A server failure is the zone's own fault and an answer to the question whether it is healthy;
// silence of our resolver is not.
function resolvesOf(
  answers: readonly DnsAnswer[],
  count: number,
  delegation: Delegation,
): boolean | null {
  if (count > 0) return true
  // The zone above names servers of which none answers, so our own network is not at fault.
  if (delegation.state === 'broken') return false
  const failures = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer.reason] : []))
  return failures.every((reason) => reason === 'servfail' || reason === 'loop') ? false : null
}

async function isBogus(
  name: string,
  answers: readonly DnsAnswer[],
  resolver: Resolver,
  signal: AbortSignal,
): Promise<boolean> {
  const failing = answers.some((answer) => answer.kind === 'failed' && answer.reason === 'servfail')
  if (!failing) return false
  const unchecked = await resolver.resolve(name, 'A', { signal, checkingDisabled: true })
  return unchecked.kind !== 'failed'
}

async function hasWildcard(
  name: string,
  resolver: Resolver,
  signal: AbortSignal,
): Promise<boolean | null> {
  const label = `x${randomBytes(8).toString('hex')}`
  const answer = await resolver.resolve(`${label}.${name}`, 'A', { signal })
  if (answer.kind === 'failed') return null
  return answer.kind === 'records'
}

function cnameOf(answer: DnsAnswer): string | null {
  return answer.kind === 'failed' ? null : (answer.cname ?? null)
}
