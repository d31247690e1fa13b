import { isMmdbMap, type MmdbMap, type MmdbValue } from './mmdb-value.ts'

/** A record of an IP database in one form for all layouts; null for missing values. */
export interface IpRecord {
  readonly country: string | null
  readonly countryCode: string | null
  readonly region: string | null
  readonly city: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly timezone: string | null
  readonly isp: string | null
  readonly asn: number | null
  readonly isVpn: boolean | null
  readonly isProxy: boolean | null
  readonly isTor: boolean | null
  readonly isDatacenter: boolean | null
}

/**
 * Parses a record by its shape, whatever the database is called. Nested (MaxMind, DB-IP,
 * IP2Location): `country.iso_code`, `subdivisions[0].names.en`, `traits.isp`. Flat
 * (ip-location-db): `country_code`, `state1`, `city`. Flat (IPinfo): `country` as a name or, in
 * older files, as a code, `asn` as `AS15169`. Empty strings count as missing. Source: the vendors'
 * schema pages, November 2026.
 */
export function readRecord(value: MmdbValue): IpRecord {
  const record = fields(value)
  const traits = fields(record['traits'])
  const country = countryOf(record)
  const location = fields(record['location'])
  return {
    ...country,
    region:
      nameIn(first(record['subdivisions'])) ?? text(record['state1']) ?? text(record['region']),
    city: nameIn(record['city']) ?? text(record['city']),
    latitude: degrees(location['latitude'] ?? record['latitude'] ?? record['lat'], 90),
    longitude: degrees(location['longitude'] ?? record['longitude'] ?? record['lng'], 180),
    timezone: text(location['time_zone']) ?? text(record['timezone']),
    isp: ispOf(record, traits),
    asn: asnOf(record, traits),
    ...flagsOf(record, traits),
  }
}

function countryOf(record: MmdbMap): Pick<IpRecord, 'country' | 'countryCode'> {
  const flat = text(record['country'])
  if (flat !== null) {
    return isCode(flat)
      ? { country: text(record['country_name']), countryCode: flat }
      : { country: flat, countryCode: code(record['country_code']) }
  }
  const nested = fields(record['country'])
  return {
    country: nameIn(nested) ?? text(record['country_name']),
    countryCode: code(nested['iso_code']) ?? code(record['country_code']),
  }
}

function ispOf(record: MmdbMap, traits: MmdbMap): string | null {
  return (
    text(traits['isp']) ??
    text(record['isp']) ??
    text(record['autonomous_system_organization']) ??
    text(traits['autonomous_system_organization']) ??
    text(record['as_name']) ??
    text(traits['organization']) ??
    text(record['organization'])
  )
}

function asnOf(record: MmdbMap, traits: MmdbMap): number | null {
  const value =
    record['autonomous_system_number'] ?? traits['autonomous_system_number'] ?? record['asn']
  if (typeof value === 'number') return value > 0 ? value : null
  const match = typeof value === 'string' ? /^(?:AS)?(\d{1,10})$/i.exec(value) : null
  return match?.[1] === undefined ? null : Number(match[1])
}

/** Flags of MaxMind's Anonymous IP database. Source: its page of fields, November 2026. */
const ANONYMITY_FLAGS = [
  'is_anonymous',
  'is_anonymous_vpn',
  'is_hosting_provider',
  'is_public_proxy',
  'is_residential_proxy',
  'is_tor_exit_node',
] as const

/**
 * Flags of MaxMind's Anonymous IP database and traits. A flag that a record leaves out is false in
 * a database of anonymity, which only a record with one of its flags shows. What a database of
 * places says of a network says nothing about the other flags: another database may know them.
 */
function flagsOf(
  record: MmdbMap,
  traits: MmdbMap,
): Pick<IpRecord, 'isVpn' | 'isProxy' | 'isTor' | 'isDatacenter'> {
  const isSet = (name: string): boolean => record[name] === true || traits[name] === true
  const unset = ANONYMITY_FLAGS.some(isSet) ? false : null
  const isProxy =
    isSet('is_public_proxy') || isSet('is_residential_proxy') || isSet('is_anonymous_proxy')
  const isDatacenter = isSet('is_hosting_provider') || text(traits['user_type']) === 'hosting'
  return {
    isVpn: isSet('is_anonymous_vpn') || unset,
    isProxy: isProxy || unset,
    isTor: isSet('is_tor_exit_node') || unset,
    isDatacenter: isDatacenter || unset,
  }
}

function fields(value: MmdbValue | undefined): MmdbMap {
  return isMmdbMap(value) ? value : NOTHING
}

const NOTHING: MmdbMap = Object.freeze({})

function first(value: MmdbValue | undefined): MmdbValue | undefined {
  return Array.isArray(value) ? value[0] : undefined
}

function nameIn(value: MmdbValue | undefined): string | null {
  return text(fields(fields(value)['names'])['en']) ?? text(fields(value)['name'])
}

function text(value: MmdbValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function isCode(value: string): boolean {
  return /^[A-Z]{2}$/.test(value)
}

function code(value: MmdbValue | undefined): string | null {
  return typeof value === 'string' && isCode(value) ? value : null
}

/**
 * Degrees with the source's decimal digits: rounded to five places (1 m), which removes
 * single-precision noise.
 */
function degrees(value: MmdbValue | undefined, most: number): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || Math.abs(number) > most) return null
  return Math.round(number * 1e5) / 1e5
}
