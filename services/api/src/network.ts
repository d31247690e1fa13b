/** An IPv4 address itself; of an IPv6 address the /64, since one host may use any address of it. */
export function networkOf(address: string): string {
  return blockOf(address, 4)
}

/**
 * An IPv4 address itself; of an IPv6 address the /48, which a provider may give to one customer
 * (RFC 6177).
 */
export function siteOf(address: string): string {
  return blockOf(address, 3)
}

function blockOf(address: string, groupCount: 3 | 4): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length)
  const groups = [...front, ...Array.from({ length: zeros }, () => '0'), ...back]
  return `${groups
    .slice(0, groupCount)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/${groupCount * 16}`
}
