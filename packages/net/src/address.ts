import { isIP } from 'node:net'

/** An IP address as a number: 32 bits of version 4, 128 bits of version 6. */
export interface IpAddress {
  readonly version: 4 | 6
  readonly value: bigint
}

/** A block of addresses, both ends included. */
export interface IpBlock {
  readonly version: 4 | 6
  readonly prefix: number
  readonly first: bigint
  readonly last: bigint
}

/**
 * Reads an address literal in strict notation; null for anything else.
 * Four decimal octets without leading zeros, or RFC 4291 text; a zone (`%eth0`) is refused.
 */
export function parseAddress(text: string): IpAddress | null {
  switch (isIP(text)) {
    case 4:
      return { version: 4, value: valueOfIpv4(text) }
    case 6:
      return text.includes('%') ? null : { version: 6, value: valueOfIpv6(text) }
    default:
      return null
  }
}

/** Reads `address/prefix`, or a bare address as a block of one; null when malformed. */
export function parseBlock(text: string): IpBlock | null {
  const slash = text.indexOf('/')
  const address = parseAddress(slash === -1 ? text : text.slice(0, slash))
  if (address === null) return null
  const bits = address.version === 4 ? 32 : 128
  const prefixText = slash === -1 ? String(bits) : text.slice(slash + 1)
  if (!/^\d{1,3}$/.test(prefixText) || Number(prefixText) > bits) return null
  const prefix = Number(prefixText)
  const hostBits = BigInt(bits - prefix)
  const first = (address.value >> hostBits) << hostBits
  return {
    version: address.version,
    prefix,
    first,
    last: first | ((1n << hostBits) - 1n),
  }
}

/** Whether an address lies in a block of its own version. */
export function blockHolds(block: IpBlock, address: IpAddress): boolean {
  return (
    block.version === address.version && address.value >= block.first && address.value <= block.last
  )
}

/** Writes an address in its canonical text: RFC 5952 for version 6, without dotted tails. */
export function formatAddress(address: IpAddress): string {
  if (address.version === 4) {
    const value = Number(address.value)
    return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
  }
  const groups: string[] = []
  for (let shift = 112n; shift >= 0n; shift -= 16n) {
    groups.push(((address.value >> shift) & 0xffffn).toString(16))
  }
  return compressZeros(groups)
}

function valueOfIpv4(text: string): bigint {
  let value = 0
  for (const octet of text.split('.')) value = value * 256 + Number(octet)
  return BigInt(value)
}

function valueOfIpv6(text: string): bigint {
  const gap = text.indexOf('::')
  const head = groupsOf(gap === -1 ? text : text.slice(0, gap))
  const tail = gap === -1 ? [] : groupsOf(text.slice(gap + 2))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0)
  let value = 0n
  for (const group of [...head, ...zeros, ...tail]) value = (value << 16n) | BigInt(group)
  return value
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  const groups: number[] = []
  for (const group of text.split(':')) {
    if (group.includes('.')) {
      const value = Number(valueOfIpv4(group))
      groups.push(value >>> 16, value & 0xffff)
    } else {
      groups.push(Number.parseInt(group, 16))
    }
  }
  return groups
}

function compressZeros(groups: readonly string[]): string {
  let bestStart = -1
  let bestLength = 1
  for (let start = 0; start < groups.length; start++) {
    let end = start
    while (groups[end] === '0') end++
    if (end - start > bestLength) {
      bestStart = start
      bestLength = end - start
    }
  }
  if (bestStart === -1) return groups.join(':')
  const before = groups.slice(0, bestStart).join(':')
  const after = groups.slice(bestStart + bestLength).join(':')
  return `${before}::${after}`
}
