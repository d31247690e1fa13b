import { bytesOf } from '@plumbline/net/address'
import { SPECIAL_BLOCKS } from '@plumbline/net/special-addresses'
import { collectRanges, type RangeTable } from '@plumbline/datasets/range-table'
import { levelAt } from '@plumbline/datasets/ranges'
import type { AddressBytes } from '@plumbline/net/address-bytes'

/** Whether an address is routable by the IANA registries. */
export interface Routability {
  readonly reachable: boolean
  /** The address itself, or the IPv4 address embedded in it. */
  readonly judged: AddressBytes
  /** How the IPv4 address is embedded; null if there is none. */
  readonly form: 'mapped' | 'nat64' | '6to4' | 'teredo' | null
}

/** Judges address bytes; created once, since it sorts the table of special blocks. */
export type RoutabilityJudge = (address: AddressBytes) => Routability

/**
 * A judge over the table of special blocks, as sorted ranges, for bulk use. The most specific row
 * wins; N/A counts as no; mapped, NAT64, 6to4 and Teredo addresses are judged by the embedded IPv4
 * address (decision 27).
 */
export function createRoutabilityJudge(): RoutabilityJudge {
  const collectors = { 4: collectRanges(1), 6: collectRanges(4) }
  for (const { block, globallyReachable } of SPECIAL_BLOCKS) {
    const first = bytesOf({ version: block.version, value: block.first })
    const last = bytesOf({ version: block.version, value: block.last })
    const level = block.prefix * 2 + (globallyReachable === true ? 1 : 0)
    collectors[block.version].add(first, last, level)
  }
  const v4 = collectors[4].table()
  const v6 = collectors[6].table()
  return (address) => {
    const { judged, form } = embedded(address)
    return { reachable: reachableIn(judged.length === 4 ? v4 : v6, judged), judged, form }
  }
}

/**
 * The level of a range is twice its prefix length, plus one if it is reachable; 0 means an ordinary
 * address.
 */
function reachableIn(table: RangeTable, address: AddressBytes): boolean {
  const level = levelAt(table, address)
  return level === 0 || level % 2 === 1
}

/**
 * The IPv4 address embedded in an IPv6 one. Source: RFC 4291 2.5.5.2, RFC 6052 2.1, RFC 3056 2, RFC
 * 4380 4.
 */
function embedded(address: AddressBytes): Pick<Routability, 'judged' | 'form'> {
  if (address.length === 4) return { judged: address, form: null }
  const [a = 0, b = 0, c = 0, d = 0] = address
  if (a === 0x20 && b === 0x02) return { judged: address.subarray(2, 6), form: '6to4' }
  if (a === 0x20 && b === 0x01 && c === 0 && d === 0) {
    return { judged: address.slice(12).map((byte) => byte ^ 0xff), form: 'teredo' }
  }
  const middleZero = zeros(address, 4, a === 0 && b === 0 ? 10 : 12)
  if (a === 0 && b === 0x64 && c === 0xff && d === 0x9b && middleZero) {
    return { judged: address.subarray(12), form: 'nat64' }
  }
  const head = a === 0 && b === 0 && c === 0 && d === 0 && middleZero
  if (head && address[10] === 0xff && address[11] === 0xff) {
    return { judged: address.subarray(12), form: 'mapped' }
  }
  return { judged: address, form: null }
}

function zeros(address: AddressBytes, from: number, to: number): boolean {
  for (let index = from; index < to; index++) if (address[index] !== 0) return false
  return true
}
