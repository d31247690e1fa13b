import type { DnsAnswer } from './dns-answer.ts'
import { linksFrom, MAX_LINKS, negativeTtlSeconds } from './dns-chain.ts'
import type { DnsQuestion } from './dns-message.ts'
import type { QueryDeadline, ServerPool } from './dns-pool.ts'

/**
 * Records of an answer, the first ones: no mail host, name server or address beyond them is used.
 * Those of TXT are all kept, since one of them may be the policy that is looked for.
 */
const MAX_RECORDS = 64

/** Queries the servers of a pool for a name, and for the names that its CNAME chain leads to. */
export async function askAlongChain(
  pool: ServerPool,
  question: DnsQuestion,
  cd: boolean,
  end: QueryDeadline,
): Promise<DnsAnswer> {
  const chain = new Set([question.name])
  let target = question.name
  let ttlSeconds = Infinity
  for (;;) {
    const asked = target
    const reply = await pool.ask({ name: asked, type: question.type }, cd, end)
    if (typeof reply === 'string') return { kind: 'failed', reason: reply }
    for (const link of linksFrom(asked, question.type, reply.answers)) {
      target = link.data
      ttlSeconds = Math.min(ttlSeconds, link.ttlSeconds)
      if (chain.has(target) || chain.size > MAX_LINKS) return { kind: 'failed', reason: 'loop' }
      chain.add(target)
    }
    const cname = target === question.name ? {} : { cname: target }
    const all = reply.answers.filter((r) => r.type === question.type && r.name === target)
    const found = question.type === 'TXT' ? all : all.slice(0, MAX_RECORDS)
    if (found.length > 0) {
      const least = Math.min(ttlSeconds, ...found.map((record) => record.ttlSeconds))
      return { kind: 'records', records: found.map((r) => r.data), ttlSeconds: least, ...cname }
    }
    const negative = negativeTtlSeconds(reply)
    // A chain that leads out of the reply, without a denial, is continued by another query at its
    // end.
    if (reply.code !== 3 && target !== asked && negative === null) continue
    const kind = reply.code === 3 ? 'nxdomain' : 'nodata'
    return { kind, ttlSeconds: Math.min(ttlSeconds, negative ?? 0), ...cname }
  }
}
