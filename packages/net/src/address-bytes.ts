import { isIP } from 'node:net'

/** An address as bytes in network order: 4 of IPv4, 16 of IPv6. */
export type AddressBytes = Uint8Array

/**
 * The bytes of an address literal in strict notation; null for other text. Refused: leading zeros,
 * hexadecimal or short IPv4, zone identifiers, brackets, prefixes, blanks. Source: RFC 6943 3.1.1
 * (strict form), RFC 4291 2.2.
 */
export function parseAddress(text: string): AddressBytes | null {
  const family = text.length > 45 ? 0 : isIP(text)
  if (family === 4) return parseV4(text)
  return family === 6 && !text.includes('%') ? parseV6(text) : null
}

/** A CIDR block as bytes, both ends included. */
export interface ByteBlock {
  readonly first: AddressBytes
  readonly last: AddressBytes
  readonly prefix: number
}

/** Parses `address/prefix`, or a bare address as a block of one; null if malformed. */
export function parseBlock(text: string): ByteBlock | null {
  const slash = text.indexOf('/')
  const first = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (first === null) return null
  const bits = slash < 0 ? first.length * 8 : prefixBits(text.slice(slash + 1), first.length * 8)
  if (bits === null) return null
  const last = first.slice()
  for (let index = 0; index < first.length; index++) {
    const mask = 0xff >> Math.min(8, Math.max(0, bits - index * 8))
    first[index] = (first[index] ?? 0) & ~mask
    last[index] = (last[index] ?? 0) | mask
  }
  return { first, last, prefix: bits }
}

/** Text of an address: dotted quad, or RFC 5952 (lower case, longest run of zeros shortened). */
export function formatAddress(bytes: AddressBytes): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, index) => wordOf(bytes, index))
  const run = longestZeroRun(groups)
  const hex = groups.map((group) => group.toString(16))
  if (run.length < 2) return hex.join(':')
  return `${hex.slice(0, run.start).join(':')}::${hex.slice(run.start + run.length).join(':')}`
}

/** IPv4 bytes as an unsigned integer. */
export function v4Number(bytes: AddressBytes, offset = 0): number {
  return (
    (((bytes[offset] ?? 0) << 24) |
      ((bytes[offset + 1] ?? 0) << 16) |
      ((bytes[offset + 2] ?? 0) << 8) |
      (bytes[offset + 3] ?? 0)) >>>
    0
  )
}

function parseV4(text: string): AddressBytes {
  const bytes = new Uint8Array(4)
  let place = 0
  let value = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x2e) {
      bytes[place++] = value
      value = 0
    } else value = value * 10 + code - 0x30
  }
  bytes[place] = value
  return bytes
}

function parseV6(text: string): AddressBytes {
  const bytes = new Uint8Array(16)
  const dot = text.indexOf('.')
  const tail = dot < 0 ? '' : text.slice(text.lastIndexOf(':', dot) + 1)
  const hex = dot < 0 ? text : text.slice(0, text.length - tail.length) + quadAsGroups(tail)
  const gap = hex.indexOf('::')
  const head = gap < 0 ? hex : hex.slice(0, gap)
  const rest = gap < 0 ? '' : hex.slice(gap + 2)
  const headGroups = head === '' ? [] : head.split(':')
  const restGroups = rest === '' ? [] : rest.split(':')
  headGroups.forEach((group, index) => setWord(bytes, index, group))
  restGroups.forEach((group, index) => setWord(bytes, 8 - restGroups.length + index, group))
  return bytes
}

function quadAsGroups(quad: string): string {
  const value = v4Number(parseV4(quad))
  return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
}

function setWord(bytes: AddressBytes, index: number, hex: string): void {
  const value = Number.parseInt(hex, 16)
  bytes[index * 2] = value >> 8
  bytes[index * 2 + 1] = value & 0xff
}

function wordOf(bytes: AddressBytes, index: number): number {
  return ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let length = 0
  groups.forEach((group, index) => {
    length = group === 0 ? length + 1 : 0
    if (length > best.length) best = { start: index - length + 1, length }
  })
  return best
}

function prefixBits(text: string, most: number): number | null {
  if (!/^\d{1,3}$/.test(text)) return null
  const bits = Number(text)
  return bits <= most ? bits : null
}
