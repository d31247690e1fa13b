import type { Resolver } from './resolver.ts'

/**
 * The fault of a resolver that does not know the DNS root, as words for the operator; null if it
 * does. The resolver of a closed network denies every public name.
 */
export async function rootFault(resolver: Resolver, signal: AbortSignal): Promise<string | null> {
  const answer = await resolver.resolve('.', 'NS', { signal })
  switch (answer.kind) {
    case 'records':
    case 'nodata':
      return null
    case 'nxdomain':
      return 'denies the root of the DNS: it serves a closed network, and what it denies is unknown'
    case 'failed':
      return `gives no usable reply about the root of the DNS (${answer.reason})`
  }
}
