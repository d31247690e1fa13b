import type { DnsRecord, DnsReply, DnsQuestion, RecordType } from './dns-message.ts'

/** A CNAME record. */
export type CnameRecord = Extract<DnsRecord, { type: 'CNAME' }>

/** Maximum length of a CNAME chain. Source: the `max-query-restarts` default of Unbound (11). */
export const MAX_LINKS = 11

/**
 * The CNAME records of a reply, beginning at a name, in order; none if CNAME itself was queried.
 */
export function linksFrom(
  start: string,
  type: RecordType,
  answers: readonly DnsRecord[],
): CnameRecord[] {
  const links: CnameRecord[] = []
  if (type === 'CNAME') return links
  let target = start
  while (links.length <= MAX_LINKS) {
    const link = answers.find((r) => r.type === 'CNAME' && r.name === target)
    if (link?.type !== 'CNAME') break
    links.push(link)
    target = link.data
  }
  return links
}

/**
 * Lifetime of a negative reply by RFC 2308 section 5: the smaller of the SOA's TTL and its last
 * field.
 */
export function negativeTtlSeconds(reply: DnsReply): number | null {
  for (const record of reply.authorities) {
    if (record.type === 'SOA') return Math.min(record.ttlSeconds, record.data.minimum)
  }
  return null
}

/**
 * Whether a reply says that the name or record does not exist, directly or at the end of its CNAME
 * chain.
 */
export function denies(reply: DnsReply, { name, type }: DnsQuestion): boolean {
  if (reply.code === 3) return true
  const links = linksFrom(name, type, reply.answers)
  const end = links.at(-1)?.data ?? name
  if (reply.answers.some((record) => record.type === type && record.name === end)) return false
  // A chain that leads out of the reply is continued by another query.
  return links.length === 0 || negativeTtlSeconds(reply) !== null
}
