const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)
const GROUP = /^[0-9A-Fa-f]{1,4}$/

/** Longest text of an address: eight groups of four digits, the last two groups as IPv4. */
const ADDRESS_MAX_CHARS = 45

/**
 * Whether a text is an IPv4 address in dotted quads without leading zeros, or an IPv6 address
 * without zone. Source: RFC 4291 2.2, RFC 6943 3.1.1 ("strict").
 */
export function isIpLiteral(text: string): boolean {
  if (text.length > ADDRESS_MAX_CHARS) return false
  return IPV4.test(text) || isIpv6Literal(text)
}

function isIpv6Literal(text: string): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  let count = 0
  for (const [index, half] of halves.entries()) {
    const size = groupCount(half, index === halves.length - 1)
    if (size === null) return false
    count += size
  }
  return halves.length === 2 ? count <= 7 : count === 8
}

/** Number of 16-bit groups in a part of an address; null if one is malformed. */
function groupCount(run: string, last: boolean): number | null {
  if (run === '') return 0
  const groups = run.split(':')
  const tail = groups.at(-1) ?? ''
  const quads = last && IPV4.test(tail)
  const hex = quads ? groups.slice(0, -1) : groups
  if (!hex.every((group) => GROUP.test(group))) return null
  return hex.length + (quads ? 2 : 0)
}
