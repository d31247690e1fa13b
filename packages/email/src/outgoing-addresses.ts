import { formatAddress, parseAddress } from '@plumbline/net/address'

/**
 * The addresses that probes are sent from, without duplicates and in canonical form: providers'
 * limits apply to an address, so one address in two notations must not count twice.
 *
 * @throws if one is not an address literal
 */
export function outgoingAddresses(texts: readonly string[]): readonly string[] {
  const canonical = texts.map((text) => {
    const address = parseAddress(text)
    if (address === null) {
      throw new Error(`source addresses: expected an IP address of this machine, got ${text}`)
    }
    return formatAddress(address)
  })
  return [...new Set(canonical)]
}
