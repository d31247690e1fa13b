import type { Json, Signal } from '@plumbline/contract/outcome'
import { isListed } from '@plumbline/net/blocklist-code'
import { dnsFault, type DnsFault } from '@plumbline/net/dns-answer'
import type { Resolver } from '@plumbline/net/resolver'
import { riskSignal } from '@plumbline/contract/signal'
import type { AddressBytes } from '@plumbline/net/address-bytes'
import { reversedName } from '@plumbline/net/reversed-name'

/** Lists queried over DNS: off unless configured, since queries reveal the subjects to others. */
export interface DnsListSettings {
  /** Whether to ask the Tor Project if an IPv4 address is a Tor exit. */
  readonly torDnsel: boolean
  /** Zones of block lists to query, for example `zen.spamhaus.org`. */
  readonly blockZones: readonly string[]
}

/** Sorts configured zones: the Tor Project's from block lists. */
export function dnsListsIn(zones: readonly string[]): DnsListSettings {
  const names = zones.map((zone) => zone.toLowerCase().replace(/\.$/, ''))
  return {
    torDnsel: names.includes(TOR_ZONE),
    blockZones: names.filter((name) => name !== TOR_ZONE),
  }
}

/** Results of the DNS lists for an address. */
export interface DnsListResults {
  /** Null if the list was not queried or gave no reply. */
  readonly isTor: boolean | null
  readonly signals: readonly Signal[]
  readonly evidence: readonly Json[]
}

/** The results if no list was queried. */
export const NO_DNS_LISTS: DnsListResults = { isTor: null, signals: [], evidence: [] }

/** Source: check.torproject.org, DNSEL: 127.0.0.2 for an exit, no such name otherwise. */
const TOR_ZONE = 'dnsel.torproject.org'
const TOR_EXIT = '127.0.0.2'

/**
 * Codes of Spamhaus for addresses of access provider customers, which is no abuse. Source:
 * spamhaus.org, return codes of the PBL.
 */
const POLICY_CODES = new Set(['127.0.0.10', '127.0.0.11'])

function isAbuse(code: string): boolean {
  return isListed(code) && !POLICY_CODES.has(code)
}

/** Queries all configured lists about one address. Never throws; a failed query gives nothing. */
export async function askDnsLists(
  resolver: Resolver,
  settings: DnsListSettings,
  address: AddressBytes,
  signal: AbortSignal,
): Promise<DnsListResults> {
  const tor = settings.torDnsel && address.length === 4
  const [exit, ...listings] = await Promise.all([
    tor ? codesIn(resolver, TOR_ZONE, address, signal) : null,
    ...settings.blockZones.map((zone) => codesIn(resolver, zone, address, signal)),
  ])
  const signals: Signal[] = []
  const evidence: Json[] = []
  const isTor = exit === null || typeof exit === 'string' ? null : exit.includes(TOR_EXIT)
  if (typeof exit === 'string') evidence.push({ list: TOR_ZONE, unanswered: exit })
  if (isTor === true) {
    signals.push(riskSignal('ip.anonymity', 'tor', { source: TOR_ZONE }))
    evidence.push({ flag: 'tor', list: TOR_ZONE })
  }
  settings.blockZones.forEach((zone, index) => {
    const listing = listings[index] ?? []
    if (typeof listing === 'string') evidence.push({ list: zone, unanswered: listing })
    const codes = typeof listing === 'string' ? [] : listing.filter(isAbuse)
    if (codes.length === 0) return
    signals.push(riskSignal('ip.reputation', 'dnsbl', { value: [...codes], source: zone }))
    evidence.push({ flag: 'threat', list: zone, codes: [...codes] })
  })
  return { isTor, signals, evidence }
}

/**
 * The codes of a listing; empty if the address is not listed; the failure if there was no reply.
 */
async function codesIn(
  resolver: Resolver,
  zone: string,
  address: AddressBytes,
  signal: AbortSignal,
): Promise<readonly string[] | DnsFault> {
  const answer = await resolver.resolve(reversedName(address, zone), 'A', { signal })
  if (answer.kind === 'records') return answer.records
  return answer.kind === 'failed' ? dnsFault(answer.reason) : []
}
