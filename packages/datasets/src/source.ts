/** Source of a list's entries: shown as evidence with every flag based on it. */
export interface ListSource {
  /** Short name of the source, for example `x4bnet` or `disposable-email-domains`. */
  readonly name: string
  /** Address or package of origin. */
  readonly origin: string
  readonly licence: string | null
  /** Date of the data, ISO 8601; null if unknown. */
  readonly date: string | null
  readonly count: number
}

/** Lists whose entries are names: domains, local parts or patterns, lower case. */
export const NAME_LISTS = [
  'disposable',
  'disposable-allow',
  'privacy-relay',
  'free',
  'role',
  'spam-trap',
  'opt-out',
  'parking-ns',
] as const
/** Name of a list of names. */
export type NameListName = (typeof NAME_LISTS)[number]

/** Lists whose entries are addresses or CIDR blocks; `threat` has a level of 1 to 9 after a tab. */
export const RANGE_LISTS = [
  'tor',
  'vpn',
  'proxy',
  'datacenter',
  'relay',
  'threat',
  'allow',
  'parking-ip',
] as const
/** Name of a list of addresses. */
export type RangeListName = (typeof RANGE_LISTS)[number]

/** Lists of autonomous system numbers, `AS64500`, with a comment after a blank. */
export const ASN_LISTS = ['datacenter-asn', 'threat-asn'] as const
/** Name of a list of autonomous systems. */
export type AsnListName = (typeof ASN_LISTS)[number]
