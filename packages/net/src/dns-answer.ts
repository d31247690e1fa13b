import type { DnsReply, RecordOf, RecordType } from './dns-message.ts'

/** What a question came to. `cname` is the last name of the chain where there was one. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      readonly kind: 'records'
      readonly records: readonly RecordOf[T][]
      readonly ttlSeconds: number
      readonly cname?: string
    }
  | { readonly kind: 'nodata' | 'nxdomain'; readonly ttlSeconds: number; readonly cname?: string }
  | { readonly kind: 'failed'; readonly reason: DnsFailure }

/** The reply of one name server asked directly. */
export type DirectAnswer =
  | { readonly kind: 'reply'; readonly reply: DnsReply }
  | { readonly kind: 'failed'; readonly reason: DnsFailure | 'forbidden' }

/**
 * Why a question has no answer; never to be taken for "no such record". `unvouched`: a server denied it,
 * or failed at it, that cannot vouch for the root of the DNS.
 */
export type DnsFailure =
  | 'servfail'
  | 'refused'
  | 'timeout'
  | 'malformed'
  | 'loop'
  | 'network'
  | 'unvouched'

/** Whose fault a failure is: the name servers' of the name, or that of our own resolver. */
export type DnsFault = 'dns_failed' | 'dns_unavailable'

/** The fault that a failure is told as. */
export function dnsFault(failure: DnsFailure): DnsFault {
  return failure === 'unvouched' ? 'dns_unavailable' : 'dns_failed'
}
