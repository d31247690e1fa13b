import { networkInterfaces } from 'node:os'
import { formatAddress, parseAddress } from './address.ts'
import type { IpAddress } from './address.ts'

/** Milliseconds for which the list of interfaces is used. */
const REREAD_MS = 60_000

/** How the interfaces are read; tests replace it. */
export interface OwnAddressesOptions {
  /** Default: `networkInterfaces` of Node. */
  readonly interfaces?: typeof networkInterfaces
  /** Milliseconds of a clock that is never set back. */
  readonly now?: () => number
  /** Called when the interfaces could not be read; those of the last time count then. */
  readonly onError?: (error: unknown) => void
}

/**
 * Makes the function that tells whether an address is one of this machine's own interfaces, which
 * are read once a minute at most. Addresses that a NAT translates to them are not known here.
 */
export function createOwnAddresses({
  interfaces = networkInterfaces,
  now = () => performance.now(),
  onError,
}: OwnAddressesOptions = {}): (address: IpAddress) => boolean {
  let own: ReadonlySet<string> = new Set()
  let rereadAtMs = -Infinity
  return (address) => {
    if (now() >= rereadAtMs) {
      rereadAtMs = now() + REREAD_MS
      try {
        own = addressesOf(interfaces())
      } catch (error) {
        onError?.(error)
      }
    }
    return own.has(formatAddress(address))
  }
}

function addressesOf(interfaces: ReturnType<typeof networkInterfaces>): ReadonlySet<string> {
  const texts = new Set<string>()
  for (const { address } of Object.values(interfaces).flatMap((rows) => rows ?? [])) {
    const parsed = parseAddress(address)
    if (parsed !== null) texts.add(formatAddress(parsed))
  }
  return texts
}
