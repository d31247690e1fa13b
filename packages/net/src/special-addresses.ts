import { blockHolds, parseBlock } from './address.ts'
import type { IpAddress, IpBlock } from './address.ts'

/** One row of the special-purpose table. */
export interface SpecialBlock {
  readonly cidr: string
  readonly name: string
  /** `Globally Reachable` of the registry; null if it is N/A. */
  readonly globallyReachable: boolean | null
  readonly source: string
  readonly block: IpBlock
}

type Row = readonly [cidr: string, name: string, globallyReachable: boolean | null, source: string]

/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries, and below each the blocks that other
 * registries exclude from unicast use (multicast; IPv6 outside of 2000::/3). Source:
 * iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry, with the RFC that
 * each row names; 192.88.99.2 and rows after RFC 9500 are those of 2024 and 2025.
 */
const ROWS: readonly Row[] = [
  ['0.0.0.0/8', 'this network', false, 'RFC 791'],
  ['0.0.0.0/32', 'this host on this network', false, 'RFC 1122'],
  ['10.0.0.0/8', 'private use', false, 'RFC 1918'],
  ['100.64.0.0/10', 'shared address space', false, 'RFC 6598'],
  ['127.0.0.0/8', 'loopback', false, 'RFC 1122'],
  ['169.254.0.0/16', 'link local', false, 'RFC 3927'],
  ['172.16.0.0/12', 'private use', false, 'RFC 1918'],
  ['192.0.0.0/24', 'IETF protocol assignments', false, 'RFC 6890'],
  ['192.0.0.0/29', 'IPv4 service continuity', false, 'RFC 7335'],
  ['192.0.0.8/32', 'IPv4 dummy address', false, 'RFC 7600'],
  ['192.0.0.9/32', 'port control protocol anycast', true, 'RFC 7723'],
  ['192.0.0.10/32', 'TURN anycast', true, 'RFC 8155'],
  ['192.0.0.170/32', 'NAT64 and DNS64 discovery', false, 'RFC 7050'],
  ['192.0.0.171/32', 'NAT64 and DNS64 discovery', false, 'RFC 7050'],
  ['192.0.2.0/24', 'documentation 1', false, 'RFC 5737'],
  ['192.31.196.0/24', 'AS112', true, 'RFC 7535'],
  ['192.52.193.0/24', 'automatic multicast tunnelling', true, 'RFC 7450'],
  ['192.88.99.0/24', 'deprecated 6to4 relay anycast', null, 'RFC 7526'],
  ['192.88.99.2/32', '6a44 relay anycast', false, 'RFC 6751'],
  ['192.168.0.0/16', 'private use', false, 'RFC 1918'],
  ['192.175.48.0/24', 'AS112 direct delegation', true, 'RFC 7534'],
  ['198.18.0.0/15', 'benchmarking', false, 'RFC 2544'],
  ['198.51.100.0/24', 'documentation 2', false, 'RFC 5737'],
  ['203.0.113.0/24', 'documentation 3', false, 'RFC 5737'],
  ['224.0.0.0/4', 'multicast', false, 'RFC 5771'],
  ['240.0.0.0/4', 'reserved', false, 'RFC 1112'],
  ['255.255.255.255/32', 'limited broadcast', false, 'RFC 8190'],

  ['::/128', 'unspecified', false, 'RFC 4291'],
  ['::1/128', 'loopback', false, 'RFC 4291'],
  ['::ffff:0:0/96', 'IPv4-mapped', false, 'RFC 4291'],
  ['::/96', 'deprecated IPv4-compatible', false, 'RFC 4291'],
  ['64:ff9b::/96', 'IPv4-IPv6 translation', true, 'RFC 6052'],
  ['64:ff9b:1::/48', 'local IPv4-IPv6 translation', false, 'RFC 8215'],
  ['100::/64', 'discard only', false, 'RFC 6666'],
  ['100:0:0:1::/64', 'dummy prefix', false, 'RFC 9780'],
  ['2001::/23', 'IETF protocol assignments', false, 'RFC 2928'],
  ['2001::/32', 'Teredo', null, 'RFC 4380'],
  ['2001:1::1/128', 'port control protocol anycast', true, 'RFC 7723'],
  ['2001:1::2/128', 'TURN anycast', true, 'RFC 8155'],
  ['2001:1::3/128', 'service registration anycast', true, 'RFC 9665'],
  ['2001:2::/48', 'benchmarking', false, 'RFC 5180'],
  ['2001:3::/32', 'automatic multicast tunnelling', true, 'RFC 7450'],
  ['2001:4:112::/48', 'AS112', true, 'RFC 7535'],
  ['2001:10::/28', 'deprecated ORCHID', null, 'RFC 4843'],
  ['2001:20::/28', 'ORCHIDv2', true, 'RFC 7343'],
  ['2001:30::/28', 'drone remote identification', true, 'RFC 9374'],
  ['2001:db8::/32', 'documentation', false, 'RFC 3849'],
  ['2002::/16', '6to4', null, 'RFC 3056'],
  ['2620:4f:8000::/48', 'AS112 direct delegation', true, 'RFC 7534'],
  ['3fff::/20', 'documentation', false, 'RFC 9637'],
  ['5f00::/16', 'segment routing identifiers', false, 'RFC 9602'],
  ['fc00::/7', 'unique local', false, 'RFC 4193'],
  ['fe80::/10', 'link local', false, 'RFC 4291'],
  ['fec0::/10', 'deprecated site local', false, 'RFC 3879'],
  ['ff00::/8', 'multicast', false, 'RFC 4291'],
  ['::/3', 'outside of global unicast', false, 'RFC 4291'],
  ['4000::/2', 'outside of global unicast', false, 'RFC 4291'],
  ['8000::/1', 'outside of global unicast', false, 'RFC 4291'],
]

/** Every special block, the most specific first. */
export const SPECIAL_BLOCKS: readonly SpecialBlock[] = ROWS.map(specialBlock).toSorted(
  (a, b) => b.block.prefix - a.block.prefix,
)

const BLOCKS_BY_VERSION = {
  4: SPECIAL_BLOCKS.filter((row) => row.block.version === 4),
  6: SPECIAL_BLOCKS.filter((row) => row.block.version === 6),
} as const

/** The most specific special block that contains an address; null for an ordinary address. */
export function specialBlockOf(address: IpAddress): SpecialBlock | null {
  return BLOCKS_BY_VERSION[address.version].find((row) => blockHolds(row.block, address)) ?? null
}

/** An IPv4 address embedded in an IPv6 address, and the format. */
export interface EmbeddedIpv4 {
  readonly form: 'mapped' | 'nat64' | '6to4' | 'teredo' | 'compatible'
  readonly address: IpAddress
}

const LOW_32 = 0xffff_ffffn

/**
 * The IPv4 address embedded in an IPv6 address; null if there is none. Formats: ::ffff:0:0/96 and
 * ::/96 (RFC 4291), 64:ff9b::/96 (RFC 6052), 2002::/16 (RFC 3056), and the client of Teredo, stored
 * with its bits inverted (RFC 4380 section 4).
 */
export function embeddedIpv4(address: IpAddress): EmbeddedIpv4 | null {
  if (address.version === 4) return null
  const low = address.value & LOW_32
  const high96 = address.value >> 32n
  if (high96 === 0xffffn) return { form: 'mapped', address: { version: 4, value: low } }
  if (high96 === 0x0064_ff9b_0000_0000_0000_0000n) {
    return { form: 'nat64', address: { version: 4, value: low } }
  }
  if (address.value >> 112n === 0x2002n) {
    return { form: '6to4', address: { version: 4, value: (address.value >> 80n) & LOW_32 } }
  }
  if (address.value >> 96n === 0x2001_0000n) {
    return { form: 'teredo', address: { version: 4, value: low ^ LOW_32 } }
  }
  if (high96 === 0n && low > 1n) return { form: 'compatible', address: { version: 4, value: low } }
  return null
}

function specialBlock([cidr, name, globallyReachable, source]: Row): SpecialBlock {
  const block = parseBlock(cidr)
  if (block === null) throw new Error(`special address table: ${cidr} is not a block`)
  return { cidr, name, globallyReachable, source, block }
}
