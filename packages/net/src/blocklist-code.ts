/**
 * Whether a list over DNS refuses the query: it comes from a public resolver, has a typing error, or is
 * one too many. Source: spamhaus.org, DNSBL usage.
 */
export function isListRefusal(code: string): boolean {
  return code.startsWith('127.255.255.')
}

/**
 * Whether a list over DNS names what was asked for. Anything outside of 127.0.0.0/8 comes from a lying
 * resolver. Source: RFC 5782 2.3.
 */
export function isListed(code: string): boolean {
  return code.startsWith('127.') && !isListRefusal(code)
}
