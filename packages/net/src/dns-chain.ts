import type { DnsRecord, DnsReply, Question, RecordType } from './dns-message.ts'

/** A CNAME record. */
export type Link = Extract<DnsRecord, { type: 'CNAME' }>

/** Links of one CNAME chain. Source: the `max-query-restarts` default of Unbound (11). */
export const MAX_LINKS = 11

/** The links of a reply from a name on, in order; none where CNAME itself was asked for. */
export function linksFrom(start: string, type: RecordType, answers: readonly DnsRecord[]): Link[] {
  const links: Link[] = []
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

/** How long a denial holds, by RFC 2308 section 5: the smaller of the SOA's own lifetime and its last field. */
export function negativeTtlSeconds(reply: DnsReply): number | null {
  for (const record of reply.authorities) {
    if (record.type === 'SOA') return Math.min(record.ttlSeconds, record.data.minimum)
  }
  return null
}

/** Whether a reply says that there is no such name or record, at the end of its chain or at once. */
export function denies(reply: DnsReply, { name, type }: Question): boolean {
  if (reply.code === 3) return true
  const links = linksFrom(name, type, reply.answers)
  const end = links.at(-1)?.data ?? name
  if (reply.answers.some((record) => record.type === type && record.name === end)) return false
  // A chain that leads out of the reply is asked on.
  return links.length === 0 || negativeTtlSeconds(reply) !== null
}
