import { formatAddress, parseAddress } from '@plumbline/net/address'
import { dnsFault, type DnsFault } from '@plumbline/net/dns-answer'
import type { Resolver } from '@plumbline/net/resolver'
import { embeddedIpv4 } from '@plumbline/net/special-addresses'
import { getDomain } from 'tldts'
import { readDomain } from './syntax.ts'

/** How mail for a domain is routed. */
export type MailRoute =
  | {
      readonly kind: 'hosts'
      /** Best preference first, equals in random order; at most `HOSTS_MAX`. */
      readonly hosts: readonly string[]
      /** Whether there is no MX record and the domain itself is the host (RFC 5321 5.1). */
      readonly implicit: boolean
      /** Every exchange in the MX records, to be looked up in the reference lists. */
      readonly exchanges: readonly string[]
      /**
       * An address whose refusal is to be rechecked: another address is used if the host has one.
       */
      readonly avoid?: string
    }
  | { readonly kind: 'null_mx' | 'no_domain' | 'no_mail_host' }
  | { readonly kind: 'failed'; readonly why: DnsFault }

/** Addresses of one mail host. */
export type MailHostAddresses =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'none' | 'unsafe' }
  | { readonly kind: 'failed'; readonly why: DnsFault }

/** Hosts of a domain, and addresses of a host, that are tried at most. */
const HOSTS_MAX = 3
const ADDRESSES_MAX = 2

/** Whether the records name more hosts than those of the route, about which nothing is known. */
export function hasOtherHosts({ exchanges }: { readonly exchanges: readonly string[] }): boolean {
  return exchanges.length > HOSTS_MAX
}

/** The exchanges under other registrable domains than that of a host, one of each. */
export function otherHosts(
  host: string,
  { exchanges }: { readonly exchanges: readonly string[] },
): readonly string[] {
  const byDomain = new Map<string, string>()
  for (const each of exchanges) {
    const domain = registrableDomain(each)
    if (!byDomain.has(domain)) byDomain.set(domain, each)
  }
  byDomain.delete(registrableDomain(host))
  return [...byDomain.values()]
}

/** The registrable domain of a mail host; the host itself if it has none. */
export function registrableDomain(host: string): string {
  return getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ?? host
}

/** Mail hosts of one domain that are considered at most, those of the best preference. */
const EXCHANGES_MAX = 20

/**
 * Finds the mail hosts of a domain (A-labels). A null MX (RFC 7505) and a name that does not exist
 * are definitive; a DNS failure never is.
 */
export async function findRoute(
  resolver: Resolver,
  domain: string,
  random: () => number,
  signal: AbortSignal,
): Promise<MailRoute> {
  const answer = await resolver.resolve(domain, 'MX', { signal })
  if (answer.kind === 'failed') return { kind: 'failed', why: dnsFault(answer.reason) }
  if (answer.kind === 'nxdomain') return { kind: 'no_domain' }
  if (answer.kind === 'records') {
    if (answer.records.every((record) => record.exchange === '.' || record.exchange === '')) {
      return answer.records.length === 0 ? { kind: 'no_mail_host' } : { kind: 'null_mx' }
    }
    const ordered = answer.records
      .filter((record) => isHostName(record.exchange))
      .map((record) => ({ ...record, exchange: record.exchange.toLowerCase(), lot: random() }))
      .toSorted((a, b) => a.preference - b.preference || a.lot - b.lot)
    const exchanges = [...new Set(ordered.map((record) => record.exchange))].slice(0, EXCHANGES_MAX)
    if (exchanges.length === 0) return { kind: 'no_mail_host' }
    return { kind: 'hosts', hosts: exchanges.slice(0, HOSTS_MAX), implicit: false, exchanges }
  }
  const own = await domainAddresses(resolver, domain, signal)
  if (own !== 'some' && own !== 'none') return { kind: 'failed', why: own }
  if (own === 'none') return { kind: 'no_mail_host' }
  return { kind: 'hosts', hosts: [domain], implicit: true, exchanges: [] }
}

/**
 * Addresses of a mail host that may be connected to, IPv4 first: large providers require reverse
 * DNS from senders over IPv6. `unsafe` if all of them are special-purpose addresses.
 */
export async function findAddresses(
  resolver: Resolver,
  permits: (address: string) => boolean,
  host: string,
  signal: AbortSignal,
): Promise<MailHostAddresses> {
  const v4 = await resolver.resolve(host, 'A', { signal })
  const addresses: string[] = v4.kind === 'records' ? [...v4.records] : []
  const safe = addresses.filter(permits)
  const failures = v4.kind === 'failed' ? [v4.reason] : []
  if (safe.length < ADDRESSES_MAX && v4.kind !== 'nxdomain') {
    const v6 = await resolver.resolve(host, 'AAAA', { signal })
    if (v6.kind === 'records') {
      const others = v6.records.map(unmapped).filter((address) => !addresses.includes(address))
      addresses.push(...others)
      safe.push(...others.filter(permits))
    }
    if (v6.kind === 'failed') failures.push(v6.reason)
  }
  if (safe.length > 0) return { kind: 'addresses', addresses: safe.slice(0, ADDRESSES_MAX) }
  if (addresses.length > 0) return { kind: 'unsafe' }
  const [failure] = failures
  return failure === undefined ? { kind: 'none' } : { kind: 'failed', why: dnsFault(failure) }
}

/** An IPv4 address that is mapped into IPv6 as itself: limits of an address hold for both forms. */
function unmapped(text: string): string {
  const address = parseAddress(text)
  const inner = address === null ? null : embeddedIpv4(address)
  return inner?.form === 'mapped' ? formatAddress(inner.address) : text
}

async function domainAddresses(
  resolver: Resolver,
  domain: string,
  signal: AbortSignal,
): Promise<'some' | 'none' | DnsFault> {
  const v4 = await resolver.resolve(domain, 'A', { signal })
  if (v4.kind === 'records' && v4.records.length > 0) return 'some'
  const v6 = await resolver.resolve(domain, 'AAAA', { signal })
  if (v6.kind === 'records' && v6.records.length > 0) return 'some'
  if (v4.kind === 'failed') return dnsFault(v4.reason)
  return v6.kind === 'failed' ? dnsFault(v6.reason) : 'none'
}

/**
 * An exchange must be a host name; an address or an invalid label is ignored. Underscores are no
 * part of host names (RFC 1123 2.1), but mail servers send to names with them. Source: Postfix,
 * `valid_hostname`; Exim 4.98, default of `dns_check_names_pattern`.
 */
function isHostName(exchange: string): boolean {
  const read = readDomain(exchange.replaceAll('_', 'x'))
  return read.ok && !/(?:^|\.)\d+$/.test(read.name)
}
