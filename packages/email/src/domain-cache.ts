import { judgeDomain, type MailDomainLists } from '@plumbline/datasets/mail-domains'
import type { NameList } from '@plumbline/datasets/name-list'
import { createSingleFlight } from '@plumbline/concurrency/single-flight'
import { resolverFor, type DnsCaller, type Resolver } from '@plumbline/net/resolver'
import { holdNewest } from './hold-newest.ts'
import { findRoute, registrableDomain } from './mx.ts'
import type { MailRoute } from './mx.ts'
import type { Flags } from './outcome.ts'
import { ORDINARY_PROVIDER, providerOfHost } from './providers.ts'
import type { HostsRoute } from './probe-queue.ts'
import type { Destination } from './provider-group.ts'
import { plainLocal, type ParsedMailbox } from './syntax.ts'
import { compileTraps } from './traps.ts'
import type { TrapMatcher } from './traps.ts'
import { suggestFor } from './typo.ts'

/** The reference lists by which addresses are flagged. */
export interface EmailLists extends MailDomainLists {
  readonly role: NameList
  readonly spamTrap: NameList
  readonly optOut: NameList
}

/** Mail routes, destinations and flags of domains, each cached for a short time. */
export interface DomainCache {
  /** The signal ends the lookup; another request that waits for it begins it again. */
  route(domain: string, caller: DnsCaller & { readonly signal: AbortSignal }): Promise<MailRoute>
  destination(domain: string, route: HostsRoute): Destination
  flags(mailbox: ParsedMailbox, hosts: readonly string[]): Flags
  readonly lists: EmailLists
}

/** Dependencies of the domain cache. */
export interface DomainCacheOptions {
  readonly resolver: Resolver
  readonly lists: () => EmailLists
  readonly sourceAddresses: readonly string[]
  readonly random: () => number
  readonly now: () => number
}

/** Domains cached in this process, and for how long; the resolver has its own lifetimes. */
const DOMAINS_MAX = 5_000
const ROUTE_MS = 60_000

interface DomainFlags extends Pick<Flags, 'judgement' | 'didYouMean' | 'listVersion'> {
  /** The mail hosts that were looked up in the lists besides the name. */
  readonly hosts: readonly string[]
}

/** Makes the cache of one engine. */
export function createDomainCache(options: DomainCacheOptions): DomainCache {
  const destinations = new WeakMap<HostsRoute, Destination>()
  const domainFlags = new Map<string, DomainFlags>()
  const traps = new WeakMap<object, TrapMatcher>()
  let flaggedBy: EmailLists | null = null

  const domainFlagsOf = (domain: string, hosts: readonly string[], lists: EmailLists) => {
    if (flaggedBy !== lists) {
      flaggedBy = lists
      domainFlags.clear()
    }
    let flags = domainFlags.get(domain)
    if (flags === undefined || !areSame(flags.hosts, hosts)) {
      const judgement = judgeDomain(domain, hosts, lists)
      // Lists of free providers hold names that look like typos, and typos: those take no mail.
      const isReal = judgement.relay || (judgement.free && hosts.length > 0)
      const didYouMean = isReal ? null : suggestFor(domain)
      flags = { hosts, judgement, didYouMean, listVersion: lists.disposable.date }
      holdNewest(domainFlags, domain, flags, DOMAINS_MAX)
    }
    return flags
  }
  return {
    route: createRouteCache(options),
    destination(domain, route) {
      let to = destinations.get(route)
      if (to === undefined) {
        to = destinationOf(domain, route, options.sourceAddresses)
        destinations.set(route, to)
      }
      return to
    },
    flags(mailbox, hosts) {
      const lists = options.lists()
      let matcher = traps.get(lists.spamTrap)
      if (matcher === undefined) {
        matcher = compileTraps(lists.spamTrap)
        traps.set(lists.spamTrap, matcher)
      }
      const { judgement, didYouMean, listVersion } = domainFlagsOf(mailbox.domain, hosts, lists)
      return {
        judgement,
        didYouMean,
        listVersion,
        role: lists.role.exact(untagged(plainLocal(mailbox))),
        trap: matcher.match(plainLocal(mailbox), mailbox.domain),
      }
    },
    get lists() {
      return options.lists()
    },
  }
}

/** Subjects of a run share the list of their domain, so that it is rarely compared by its names. */
function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((host, at) => host === b[at]))
}

function createRouteCache({ resolver, random, now }: DomainCacheOptions): DomainCache['route'] {
  const routes = new Map<string, { readonly route: MailRoute; readonly untilMs: number }>()
  const shared = createSingleFlight<MailRoute>()
  const knownRoute = (domain: string): MailRoute | null => {
    const held = routes.get(domain)
    return held !== undefined && held.untilMs > now() ? held.route : null
  }
  return async (domain, caller) => {
    const known = knownRoute(domain)
    if (known !== null) return known
    // Another account's lookup may wait for that account's turn, and one of a batch for longer.
    const turn = `${caller.lane} ${caller.account} ${domain}`
    return await shared(turn, caller.signal, async () => {
      const route = await findRoute(resolverFor(resolver, caller), domain, random, caller.signal)
      if (route.kind === 'failed') return route
      // All requests use the same order of hosts, also if two have looked it up.
      const other = knownRoute(domain)
      if (other !== null) return other
      holdNewest(routes, domain, { route, untilMs: now() + ROUTE_MS }, DOMAINS_MAX)
      return route
    })
  }
}

function destinationOf(domain: string, route: HostsRoute, sources: readonly string[]): Destination {
  const first = route.hosts[0] ?? domain
  const group = groupOf(first)
  return {
    route: splitRoute(route, group),
    provider: providerOfHost(first),
    group,
    // Greylisting recognizes a sender by its address, so a domain always sees the same one.
    source: sources.length === 0 ? undefined : sources[spread(domain) % sources.length],
  }
}

/** The provider group of a mail host: its provider, or its registrable domain. */
function groupOf(host: string): string {
  const { id } = providerOfHost(host)
  return id === ORDINARY_PROVIDER.id ? registrableDomain(host) : id
}

/**
 * The route over hosts of one group: whoever publishes MX records names hosts of others in them, and
 * what their own hosts reply must not be taken for a reply of that group.
 */
function splitRoute(route: HostsRoute, group: string): HostsRoute {
  const own = route.hosts.filter((host) => groupOf(host) === group)
  const rest = route.hosts.filter((host) => groupOf(host) !== group)
  return rest.length === 0 ? route : { ...route, hosts: own, others: { ...route, hosts: rest } }
}

/** The local part in lower case without a tag. */
function untagged(local: string): string {
  const lower = local.toLowerCase()
  const plus = lower.indexOf('+')
  return plus > 0 ? lower.slice(0, plus) : lower
}

/** A pseudo-random number derived from a name (FNV-1a). */
function spread(name: string): number {
  let sum = 0x811c9dc5
  for (let at = 0; at < name.length; at++) {
    sum = Math.imul(sum ^ name.charCodeAt(at), 0x01000193) >>> 0
  }
  return sum
}
