import type { IpFacts, Json, Signal } from '@plumbline/contract/outcome'
import type { Reason } from '@plumbline/contract/reasons'
import timezoneAt from '@photostructure/tz-lookup'
import { type AddressBytes, formatAddress, parseAddress } from '@plumbline/net/address-bytes'
import type { AsnEntry } from '@plumbline/datasets/asn-table'
import type { CountryNames } from '@plumbline/datasets/country-names'
import type { IpDatabase, PackagedAsn } from '@plumbline/datasets/ip-databases'
import { type DnsListResults, NO_DNS_LISTS } from './dns-lists.ts'
import { flagAddress, type IpFlags, type IpLists } from './flags.ts'
import type { IpRecord } from '@plumbline/datasets/ip-record'
import type { RoutabilityJudge } from './routability.ts'
import { riskSignal } from '@plumbline/contract/signal'

/** All data of an IP lookup, in memory. */
export interface IpData {
  /** Databases in order of trust; the first with a value, or the most exact place, wins. */
  readonly databases: readonly IpDatabase[]
  readonly asnTable: PackagedAsn | null
  readonly lists: IpLists
  readonly judge: RoutabilityJudge
  readonly countries: CountryNames
}

/** Result of a lookup: the parts of an outcome that do not depend on the time. */
export interface IpLookup {
  readonly reason: Reason<'ip'>
  readonly facts: IpFacts
  readonly evidence: { readonly [key: string]: Json }
}

/**
 * Looks up an address: pure, no network. `found`: results of the DNS lists, queried before.
 * @throws if the text is not an address literal; requests are validated earlier
 */
export function lookupIp(
  data: IpData,
  text: string,
  found: DnsListResults = NO_DNS_LISTS,
): IpLookup {
  const address = parseAddress(text)
  if (address === null)
    throw new Error(`expected an IPv4 or IPv6 literal, got ${text.length} characters`)
  const { reachable, judged, form } = data.judge(address)
  const place = placeOf(data, judged)
  const carried = form === null ? {} : { carried_ipv4: formatAddress(judged), carried_as: form }
  if (!reachable) return unroutable(data, text, place, carried)
  const flags = flagAddress(data.lists, judged, place.asn?.asn ?? null, place.record)
  const allowed = flags.evidence.some((row) => row.flag === 'allow')
  const more = allowed ? NO_DNS_LISTS : found
  const signals = [...flags.signals, ...more.signals]
  const isTor = more.isTor === true ? true : (flags.isTor ?? more.isTor)
  return {
    reason: place.databases.length === 0 && flags.evidence.length === 0 ? 'no_data' : 'located',
    facts: factsOf(data, text, true, place, { ...flags, isTor }, signals),
    evidence: {
      ...carried,
      ...evidenceOf(place, [...flags.evidence, ...more.evidence]),
      ...unknownFlags({ ...flags, isTor }),
    },
  }
}

interface Place {
  readonly record: IpRecord | null
  readonly asn: AsnEntry | null
  readonly timezone: { readonly name: string; readonly from: 'database' | 'coordinates' } | null
  /** Databases that had data on the address. */
  readonly databases: readonly { readonly source: string; readonly date: string | null }[]
}

function placeOf(data: IpData, address: AddressBytes): Place {
  const told: IpRecord[] = []
  const databases: { source: string; date: string | null }[] = []
  for (const database of data.databases) {
    const record = database.find(address)
    if (record === null) continue
    told.push(record)
    databases.push({ source: database.type, date: database.date })
  }
  const record = told.length > 1 ? told.reduce(overlay) : (told[0] ?? null)
  const asn = asnOf(data, record, address)
  if (asn !== null && asn.asn !== record?.asn && data.asnTable !== null) {
    databases.push({ source: data.asnTable.source, date: data.asnTable.date })
  }
  return { record, asn, timezone: timezoneOf(record), databases }
}

function asnOf(data: IpData, record: IpRecord | null, address: AddressBytes): AsnEntry | null {
  if (record !== null && record.asn !== null) return { asn: record.asn, organization: null }
  return data.asnTable?.table.find(address) ?? null
}

/**
 * The first record with the gaps filled from the second. Region, city, coordinates and time zone
 * belong together: those of the record that is more exact come first, and the second has none in
 * another country.
 */
function overlay(first: IpRecord, second: IpRecord): IpRecord {
  const country = first.countryCode === null && first.country === null ? second : first
  const isAbroad =
    first.countryCode !== null &&
    second.countryCode !== null &&
    first.countryCode !== second.countryCode
  const [near, far] = exactness(second) > exactness(first) ? [second, first] : [first, second]
  const place = isAbroad ? first : placeIn(near, far)
  return {
    country: country.country,
    countryCode: country.countryCode,
    region: place.region,
    city: place.city,
    latitude: place.latitude,
    longitude: place.longitude,
    timezone: place.timezone,
    isp: first.isp ?? second.isp,
    asn: first.asn ?? second.asn,
    isVpn: first.isVpn ?? second.isVpn,
    isProxy: first.isProxy ?? second.isProxy,
    isTor: first.isTor ?? second.isTor,
    isDatacenter: first.isDatacenter ?? second.isDatacenter,
  }
}

type RecordPlace = Pick<IpRecord, 'region' | 'city' | 'latitude' | 'longitude' | 'timezone'>

function placeIn(near: IpRecord, far: IpRecord): RecordPlace {
  const located = near.latitude === null || near.longitude === null ? far : near
  // The time zone of a country's centre is not that of the coordinates of a city.
  const isFarZone = located === far || exactness(far) >= exactness(near)
  return {
    region: near.region ?? far.region,
    city: near.city ?? far.city,
    latitude: located.latitude,
    longitude: located.longitude,
    timezone: near.timezone ?? (isFarZone ? far.timezone : null),
  }
}

/** How exactly a record knows the place: 2 its city, 1 its region, 0 at most its country. */
function exactness({ city, region }: IpRecord): number {
  if (city !== null) return 2
  return region === null ? 0 : 1
}

/**
 * Without a city or region the coordinates are the centre of a country, which gives no time zone.
 */
function timezoneOf(record: IpRecord | null): Place['timezone'] {
  if (record === null) return null
  if (record.timezone !== null) return { name: record.timezone, from: 'database' }
  if (record.city === null && record.region === null) return null
  if (record.latitude === null || record.longitude === null) return null
  return { name: timezoneAt(record.latitude, record.longitude), from: 'coordinates' }
}

function factsOf(
  data: IpData,
  text: string,
  valid: boolean,
  place: Place,
  flags: Omit<IpFlags, 'evidence'>,
  signals: readonly Signal[],
): IpFacts {
  const { record, asn } = place
  const code = record?.countryCode ?? null
  return {
    ip: text,
    valid,
    country: record?.country ?? (code === null ? null : data.countries.of(code)),
    countryCode: code,
    region: record?.region ?? null,
    city: record?.city ?? null,
    latitude: record?.latitude ?? null,
    longitude: record?.longitude ?? null,
    timezone: place.timezone?.name ?? null,
    isp: record?.isp ?? asn?.organization ?? null,
    asn: asn === null ? null : `AS${asn.asn}`,
    isVpn: flags.isVpn,
    isProxy: flags.isProxy,
    isTor: flags.isTor,
    isDatacenter: flags.isDatacenter,
    isRelay: flags.isRelay,
    signals,
  }
}

/**
 * An address that is not routed is no exit, relay or data centre; its location is set if the
 * operator's own database has it.
 */
function unroutable(
  data: IpData,
  text: string,
  place: Place,
  carried: { readonly [key: string]: Json },
): IpLookup {
  const signals = [riskSignal('ip.anonymity', 'bogon')]
  const flags = {
    isVpn: false,
    isProxy: false,
    isTor: false,
    isDatacenter: false,
    isRelay: false,
    signals,
  }
  return {
    reason: 'not_routable',
    facts: factsOf(data, text, false, place, flags, signals),
    evidence: { ...carried, ...evidenceOf(place, []) },
  }
}

/** Flags that no installed data could tell. */
function unknownFlags(flags: IpFlags): { readonly unknown_flags?: readonly string[] } {
  const names: string[] = []
  if (flags.isVpn === null) names.push('vpn')
  if (flags.isProxy === null) names.push('proxy')
  if (flags.isTor === null) names.push('tor')
  if (flags.isDatacenter === null) names.push('datacenter')
  if (flags.isRelay === null) names.push('relay')
  return names.length === 0 ? {} : { unknown_flags: names }
}

function evidenceOf(place: Place, flags: readonly Json[]): { readonly [key: string]: Json } {
  return {
    databases: place.databases,
    ...(place.timezone === null ? {} : { timezone_from: place.timezone.from }),
    ...(flags.length === 0 ? {} : { flags }),
  }
}
