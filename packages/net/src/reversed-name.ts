import { type AddressBytes, formatAddress } from './address-bytes.ts'

/** The name of an address in a zone, with its parts reversed. Source: RFC 5782 2.1 and 2.4. */
export function reversedName(address: AddressBytes, zone: string): string {
  const parts =
    address.length === 4
      ? formatAddress(address).split('.')
      : Buffer.from(address).toString('hex').split('')
  return `${parts.toReversed().join('.')}.${zone}`
}

/** The name whose PTR records name an address. Source: RFC 1035 3.5, RFC 3596 2.5. */
export function pointerName(address: AddressBytes): string {
  return reversedName(address, address.length === 4 ? 'in-addr.arpa' : 'ip6.arpa')
}
