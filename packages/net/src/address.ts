import {
  type AddressBytes,
  formatAddress as formatBytes,
  parseAddress as parseBytes,
  parseBlock as parseByteBlock,
} from './address-bytes.ts'

/** An IP address as a number, for arithmetic: 32 bits of version 4, 128 bits of version 6. */
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
 * Parses an address literal in strict notation, as `address-bytes` does; null for anything else.
 */
export function parseAddress(text: string): IpAddress | null {
  const bytes = parseBytes(text)
  return bytes === null ? null : { version: versionOf(bytes), value: valueOf(bytes) }
}

/** Parses `address/prefix`, or a bare address as a block of one; null if malformed. */
export function parseBlock(text: string): IpBlock | null {
  const block = parseByteBlock(text)
  if (block === null) return null
  const { first, last, prefix } = block
  return { version: versionOf(first), prefix, first: valueOf(first), last: valueOf(last) }
}

/** Whether an address is in a block of its own version. */
export function blockHolds(block: IpBlock, address: IpAddress): boolean {
  return (
    block.version === address.version && address.value >= block.first && address.value <= block.last
  )
}

/** Canonical text of an address: RFC 5952 for version 6, without dotted tails. */
export function formatAddress(address: IpAddress): string {
  return formatBytes(bytesOf(address))
}

/** The bytes of an address in network order. */
export function bytesOf({ version, value }: IpAddress): AddressBytes {
  return Buffer.from(value.toString(16).padStart(version === 4 ? 8 : 32, '0'), 'hex')
}

function versionOf(bytes: AddressBytes): 4 | 6 {
  return bytes.length === 4 ? 4 : 6
}

function valueOf(bytes: AddressBytes): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
