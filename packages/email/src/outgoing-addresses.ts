import { formatAddress, parseAddress } from '@plumbline/net/address'

/**
 * The addresses that probes leave from, each once and in its canonical text: what a provider allows belongs to
 * an address, so that one address under two spellings must not be counted as two.
 * @throws if one is no address literal
 */
export function outgoingAddresses(texts: readonly string[]): readonly string[] {
  const canonical = texts.map((text) => {
    const address = parseAddress(text)
    if (address === null) {
      throw new Error(`source addresses: expected an IP address of this machine, met ${text}`)
    }
    return formatAddress(address)
  })
  return [...new Set(canonical)]
}
