import type { Json } from '@plumbline/contract/outcome'
import type { DomainCache } from './domain-cache.ts'
import type { ProbeResult } from './probe-result.ts'
import type { Destination } from './provider-group.ts'
import type { DictionaryAttackGuard, Pair } from './dictionary-attack-guard.ts'
import type { HostsRoute } from './probe-queue.ts'

/**
 * The mail hosts of a domain and whether they may be probed; the same for all subjects of a run.
 */
export interface ProbeTarget {
  readonly route: HostsRoute
  readonly to: Destination
  readonly pair: Pair
  /** Why the domain is not probed; null if it is. */
  readonly off: 'opted_out' | 'probing_off' | null
  readonly evidence: { readonly [key: string]: Json }
}

/** Dependencies of finding a target. */
export interface TargetTools {
  readonly domains: DomainCache
  readonly dictionary: DictionaryAttackGuard
  /** Whether the hosts of a destination are never probed. */
  readonly isOff: (to: Destination) => boolean
}

/** The target of a domain for one account. */
export function probeTargetOf(
  tools: TargetTools,
  account: string,
  domain: string,
  route: HostsRoute,
): ProbeTarget {
  const to = tools.domains.destination(domain, route)
  const isOptedOut = tools.domains.lists.optOut.has(domain)
  return {
    route,
    to,
    pair: tools.dictionary.pair(account, domain),
    off: isOptedOut ? 'opted_out' : tools.isOff(to) ? 'probing_off' : null,
    evidence: {
      mx_host: route.hosts[0] ?? domain,
      provider: to.provider.id,
      ...(route.implicit ? { implicit_mx: true } : {}),
    },
  }
}

/**
 * The evidence of a result with that of its target; if a host was asked, the result has it already.
 */
export function evidenceAt(
  target: ProbeTarget | null,
  { evidence }: ProbeResult,
): ProbeResult['evidence'] {
  const isWhole = target === null || evidence['mx_address'] !== undefined
  return isWhole ? evidence : { ...target.evidence, ...evidence }
}
