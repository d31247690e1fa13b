import { judgeMailDomain, type MailDomainLists } from './mail-domains.ts'

/** Judgement of a domain and its mail hosts by the reference lists. */
export interface DomainJudgement {
  readonly disposable: boolean
  readonly free: boolean
  readonly relay: boolean
  /** The matching entry and its source; null if no list matched. */
  readonly source: {
    readonly entry: string
    readonly list: string
    readonly date: string | null
  } | null
}

/**
 * Judges a domain by its name and its parents, then by its mail hosts: disposable services put many
 * names on one host. A free or allowed name is not disposable because of a shared host.
 */
export function judgeDomain(
  domain: string,
  mxHosts: readonly string[],
  lists: MailDomainLists,
): DomainJudgement {
  const own = judgeMailDomain(lists, domain)
  const source =
    own.evidence === null
      ? null
      : {
          entry: own.evidence.entry,
          list: own.evidence.source.name,
          date: own.evidence.source.date,
        }
  const base = {
    disposable: own.disposable,
    free: own.freeProvider,
    relay: own.privacyRelay,
    source,
  }
  if (own.disposable || own.freeProvider || own.privacyRelay) return base
  if (lists.disposableAllow.has(domain)) return base
  for (const host of mxHosts) {
    const byHost = judgeMailDomain(lists, host)
    if (!byHost.disposable || byHost.evidence === null) continue
    const { entry, source: list } = byHost.evidence
    return {
      ...base,
      disposable: true,
      source: { entry: `mx:${entry}`, list: list.name, date: list.date },
    }
  }
  return base
}

/** Only the disposable check, for callers that need no more. */
export function disposableDomains(lists: MailDomainLists): {
  has(domain: string, mxHosts: readonly string[]): boolean
} {
  return { has: (domain, mxHosts) => judgeDomain(domain, mxHosts, lists).disposable }
}
