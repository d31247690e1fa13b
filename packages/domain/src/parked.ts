import { fetchBounded } from '@plumbline/net/http'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { type AddressBytes, parseAddress } from '@plumbline/net/address-bytes'
import type { DnsFacts } from './dns-facts.ts'

/** Reference lists of parking services. */
export interface ParkingLists {
  /** Names of their name servers and hosts; subdomains of a listed name count too. */
  readonly names: { has(name: string): boolean }
  readonly addresses: { has(address: AddressBytes): boolean }
}

/** Whether a domain is parked, and the signs of it; null if DNS failed. */
export interface Parked {
  readonly parked: boolean | null
  readonly signs: readonly ParkingSign[]
}

/**
 * `takes_mail` is a sign against parking: registrars park domains on the servers of their
 * customers.
 */
export type ParkingSign = 'name_servers' | 'address' | 'cname' | 'wildcard' | 'page' | 'takes_mail'

/**
 * Judges by DNS, and by the front page if it was fetched. Name servers or addresses of a parking
 * service count unless the domain receives mail elsewhere; a CNAME to one and a parking page always
 * count. A wildcard alone does not count; it is only reported as evidence.
 */
export function judgeParked(
  dns: DnsFacts,
  lists: ParkingLists,
  pageSaysSo: boolean | null,
): Parked {
  const signs: ParkingSign[] = []
  const listed = (name: string): boolean => lists.names.has(name)
  if (dns.delegation.nameServers.some(listed)) signs.push('name_servers')
  if (dns.addresses.some((address) => holds(lists, address))) signs.push('address')
  if (dns.cname !== null && listed(dns.cname)) signs.push('cname')
  if (pageSaysSo === true) signs.push('page')
  const ownMail = dns.mx.some((record) => !listed(record.exchange))
  const sure = signs.includes('cname') || signs.includes('page')
  const parked = sure || (signs.length > 0 && !ownMail)
  if (signs.length > 0 && ownMail) signs.push('takes_mail')
  if (dns.wildcard === true) signs.push('wildcard')
  const known = parked || dns.resolves !== null || dns.delegation.state !== 'unknown'
  return { parked: known ? parked : null, signs }
}

/**
 * Phrases and hosts that occur on parking pages only. All repetitions are bounded, since the page
 * is untrusted.
 */
const PAGE_SIGNS: readonly RegExp[] = [
  /\bth(?:is|e) domain(?: name)?(?: \S{1,260})? (?:is|may be) (?:for sale|available for purchase)\b/i,
  /\bbuy this domain\b/i,
  /\bdomain(?: name)? is parked\b|\bparked (?:free|domain|page)\b/i,
  /\b(?:sedoparking|parkingcrew|bodis|above|afternic|dan|hugedomains)\.(?:com|net)\/\S{0,200}?(?:lander|park|sale)/i,
  /window\.location(?:\.href)?\s{0,20}=\s{0,20}["']\/lander["']/i,
]

const PAGE_BYTES = 65_536
const PAGE_TIMEOUT_MS = 5_000

/** Fetches the front page within limits; null if there is none. */
export async function readParkingPage(
  name: string,
  net: { readonly egress: Egress; readonly resolver: Resolver },
  signal: AbortSignal,
): Promise<boolean | null> {
  const answer = await fetchBounded({
    url: `http://${name}/`,
    maxBytes: PAGE_BYTES,
    overflow: 'cut',
    maxRedirects: 3,
    timeoutMs: PAGE_TIMEOUT_MS,
    signal,
    ...net,
  })
  if (answer.kind === 'failed') return null
  return isParkingPage(Buffer.from(answer.body).toString('utf8'))
}

/** Whether the text of a page is that of a parking page. */
export function isParkingPage(text: string): boolean {
  return PAGE_SIGNS.some((pattern) => pattern.test(text))
}

function holds(lists: ParkingLists, text: string): boolean {
  const bytes = parseAddress(text)
  return bytes !== null && lists.addresses.has(bytes)
}
