import type { Signal } from '@plumbline/contract/outcome'
import type { RangeList } from '@plumbline/datasets/ranges'
import type { AsnList } from '@plumbline/datasets/asn-list'
import { riskSignal, threatNetworkSignal, threatSignal } from '@plumbline/contract/signal'
import type { AddressBytes } from '@plumbline/net/address-bytes'
import type { IpRecord } from '@plumbline/datasets/ip-record'

/** The reference lists by which an address is flagged. */
export interface IpLists {
  readonly tor: RangeList
  readonly vpn: RangeList
  readonly proxy: RangeList
  readonly datacenter: RangeList
  readonly relay: RangeList
  readonly threat: RangeList
  readonly allow: RangeList
  readonly datacenterAsn: AsnList
  readonly threatAsn: AsnList
}

/** Flags of an address; null if no installed data could tell. */
export interface IpFlags {
  readonly isVpn: boolean | null
  readonly isProxy: boolean | null
  readonly isTor: boolean | null
  readonly isDatacenter: boolean | null
  readonly isRelay: boolean | null
  readonly signals: readonly Signal[]
  /** One row for each source that named the address. */
  readonly evidence: readonly FlagRow[]
}

/** A source that flagged the address, why, and the date of the source. */
export type FlagRow = {
  readonly flag: FlagName | 'allow' | 'threat'
  readonly list: string
  readonly origin?: string
  readonly date?: string | null
  readonly level?: number
  readonly asn?: number
}

type FlagName = 'tor' | 'vpn' | 'proxy' | 'datacenter' | 'relay'

/** Codes of the weights table, group `ip.anonymity`. */
const CODES = {
  tor: 'tor',
  proxy: 'public_proxy',
  vpn: 'vpn',
  datacenter: 'datacenter',
  relay: 'private_relay',
} as const satisfies Record<FlagName, string>

/**
 * Flags an address by the lists and a database. The allow-list clears every flag. A benign relay is
 * neither VPN nor proxy nor data centre, although its machines are in one.
 */
export function flagAddress(
  lists: IpLists,
  address: AddressBytes,
  asn: number | null,
  record: IpRecord | null,
): IpFlags {
  const allowed = lists.allow.matches(address)
  if (allowed.length > 0)
    return clear(
      lists,
      record,
      allowed.map(({ source }) => row('allow', source)),
    )
  const evidence: FlagRow[] = []
  const found = (flag: FlagName, told: boolean | null): boolean => {
    const matches = lists[flag].matches(address)
    for (const { source } of matches) evidence.push(row(flag, source))
    if (told === true) evidence.push({ flag, list: 'database' })
    return matches.length > 0 || told === true
  }
  const relay = found('relay', null)
  const tor = found('tor', record?.isTor ?? null)
  const proxy = found('proxy', record?.isProxy ?? null) && !relay
  const vpn = found('vpn', record?.isVpn ?? null) && !relay
  const hosted = asn === null ? null : lists.datacenterAsn.match(asn)
  if (asn !== null && hosted !== null) evidence.push({ ...row('datacenter', hosted), asn })
  const datacenter =
    (found('datacenter', record?.isDatacenter ?? null) || hosted !== null) && !relay
  const flags = { tor, proxy, vpn, datacenter, relay }
  return {
    ...known(lists, record, flags),
    signals: [
      ...anonymitySignals(flags, evidence),
      ...threatSignals(lists, address, asn, evidence),
    ],
    evidence,
  }
}

/** An unset flag is "no" only if some installed data could have set it. */
function known(
  lists: IpLists,
  record: IpRecord | null,
  flags: Readonly<Record<FlagName, boolean>>,
): Omit<IpFlags, 'signals' | 'evidence'> {
  const flag = (set: boolean, listed: number, told: boolean | null | undefined): boolean | null =>
    set || (listed > 0 || typeof told === 'boolean' ? false : null)
  const hosting = lists.datacenter.count + lists.datacenterAsn.count
  return {
    isVpn: flag(flags.vpn, lists.vpn.count, record?.isVpn),
    isProxy: flag(flags.proxy, lists.proxy.count, record?.isProxy),
    isTor: flag(flags.tor, lists.tor.count, record?.isTor),
    isDatacenter: flag(flags.datacenter, hosting, record?.isDatacenter),
    isRelay: flag(flags.relay, lists.relay.count, null),
  }
}

function clear(lists: IpLists, record: IpRecord | null, evidence: readonly FlagRow[]): IpFlags {
  const none = { tor: false, proxy: false, vpn: false, datacenter: false, relay: false }
  return { ...known(lists, record, none), signals: [], evidence }
}

function anonymitySignals(
  flags: Readonly<Record<FlagName, boolean>>,
  evidence: readonly FlagRow[],
): readonly Signal[] {
  const set = (['tor', 'proxy', 'vpn', 'datacenter', 'relay'] as const).filter(
    (flag) => flags[flag],
  )
  return set.map((flag) => {
    const source = sourceIn(evidence, flag)
    return riskSignal('ip.anonymity', CODES[flag], source === null ? {} : { source })
  })
}

function threatSignals(
  lists: IpLists,
  address: AddressBytes,
  asn: number | null,
  evidence: FlagRow[],
): readonly Signal[] {
  const signals: Signal[] = []
  for (const { source, level } of lists.threat.matches(address)) {
    evidence.push({ ...row('threat', source), level })
    signals.push(threatSignal(level, source.name))
  }
  const network = asn === null ? null : lists.threatAsn.match(asn)
  if (asn !== null && network !== null) {
    evidence.push({ ...row('threat', network), asn })
    signals.push(threatNetworkSignal(network.name))
  }
  return signals
}

function row(
  flag: FlagRow['flag'],
  source: { readonly name: string; readonly origin: string; readonly date: string | null },
): FlagRow {
  return { flag, list: source.name, origin: source.origin, date: source.date }
}

function sourceIn(evidence: readonly FlagRow[], flag: FlagName): string | null {
  return evidence.find((entry) => entry.flag === flag)?.list ?? null
}
