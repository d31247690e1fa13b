import type { DnsFailure } from './dns-answer.ts'
import type { Resolver } from './resolver.ts'

/** The addresses of a host, IPv4 first, or why there are none. */
export type HostAddresses =
  | {
      readonly kind: 'addresses'
      readonly addresses: readonly string[]
      readonly ttlSeconds: number
    }
  | { readonly kind: 'nodata' | 'nxdomain' }
  | { readonly kind: 'failed'; readonly reason: DnsFailure }

/**
 * Queries A and AAAA in parallel. One family with addresses is enough; without any, a failure of
 * either is a failure, and only two negative replies mean that there is none.
 */
export async function resolveAddresses(
  resolver: Resolver,
  host: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<HostAddresses> {
  const [v4, v6] = await Promise.all([
    resolver.resolve(host, 'A', options),
    resolver.resolve(host, 'AAAA', options),
  ])
  const addresses: string[] = []
  let ttlSeconds = Infinity
  for (const answer of [v4, v6]) {
    if (answer.kind !== 'records') continue
    addresses.push(...answer.records)
    ttlSeconds = Math.min(ttlSeconds, answer.ttlSeconds)
  }
  if (addresses.length > 0) return { kind: 'addresses', addresses, ttlSeconds }
  for (const answer of [v4, v6]) if (answer.kind === 'failed') return answer
  return { kind: v4.kind === 'nxdomain' || v6.kind === 'nxdomain' ? 'nxdomain' : 'nodata' }
}
