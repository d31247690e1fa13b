import type { DnsReply, RecordOf, RecordType } from './dns-message.ts'

/** Result of a query. `cname` is the last name of the CNAME chain, if there was one. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      readonly kind: 'records'
      readonly records: readonly RecordOf[T][]
      readonly ttlSeconds: number
      readonly cname?: string
    }
  | { readonly kind: 'nodata' | 'nxdomain'; readonly ttlSeconds: number; readonly cname?: string }
  | { readonly kind: 'failed'; readonly reason: DnsFailure }

/** The reply of one name server queried directly. */
export type DirectAnswer =
  | { readonly kind: 'reply'; readonly reply: DnsReply }
  | { readonly kind: 'failed'; readonly reason: DnsFailure | 'forbidden' }

/**
 * Why a query has no result; which does not mean "no such record". `no_root`: denied, or failed,
 * by a server that does not know the root of the DNS.
 */
export type DnsFailure =
  | 'servfail'
  | 'refused'
  | 'timeout'
  | 'malformed'
  | 'loop'
  | 'network'
  | 'no_root'

/** The cause of a failure: the name servers of the domain, or our resolver. */
export type DnsFault = 'dns_failed' | 'dns_unavailable'

/** The reason code of a failure. */
export function dnsFault(failure: DnsFailure): DnsFault {
  return failure === 'no_root' ? 'dns_unavailable' : 'dns_failed'
}
