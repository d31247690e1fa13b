import { loadNames } from './load.ts'
import type { NameList } from './name-list.ts'

/** The reference lists by which a mail domain is judged. */
export interface MailDomainLists {
  readonly disposable: NameList
  readonly disposableAllow: NameList
  readonly privacyRelay: NameList
  readonly free: NameList
}

/** Judgement of a mail domain by the reference lists. */
export interface DomainJudgement {
  readonly disposable: boolean
  readonly free: boolean
  /** Whether it is a forwarding service for permanent mailboxes; never also disposable. */
  readonly relay: boolean
  /** The matching entry and its source; null if no list matched. */
  readonly source: {
    readonly entry: string
    readonly list: string
    readonly date: string | null
  } | null
}

/** The lists from a folder, or the packaged ones. */
export async function loadMailDomainLists(dir: string | null): Promise<MailDomainLists> {
  const [disposable, disposableAllow, privacyRelay, free] = await Promise.all([
    loadNames(dir, 'disposable'),
    loadNames(dir, 'disposable-allow'),
    loadNames(dir, 'privacy-relay'),
    loadNames(dir, 'free'),
  ])
  return { disposable, disposableAllow, privacyRelay, free }
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
  const own = judgeName(domain, lists)
  if (own.disposable || own.free || own.relay || lists.disposableAllow.has(domain)) return own
  for (const host of mxHosts) {
    const { disposable, source } = judgeName(host, lists)
    if (!disposable || source === null) continue
    return { ...own, disposable, source: { ...source, entry: `mx:${source.entry}` } }
  }
  return own
}

/**
 * Looks up a domain (lower-case A-labels) and its parents in the lists. The allow-list comes first,
 * then privacy relays, then disposable, then free providers, whose lists contain disposable names
 * too. A domain that is itself a free provider is not disposable because of a parent: the most
 * specific entry wins.
 */
export function judgeName(domain: string, lists: MailDomainLists): DomainJudgement {
  const relay = lists.privacyRelay.match(domain)
  if (relay !== null) return listedAs('relay', relay, lists.privacyRelay)
  // Of a free provider only the domain itself: a host below it is a customer's or a machine.
  const isFree = lists.free.exact(domain)
  const disposable = lists.disposableAllow.has(domain) ? null : lists.disposable.match(domain)
  if (disposable !== null && (disposable === domain || !isFree)) {
    return listedAs('disposable', disposable, lists.disposable)
  }
  return isFree ? listedAs('free', domain, lists.free) : UNLISTED
}

const UNLISTED: DomainJudgement = { disposable: false, free: false, relay: false, source: null }

function listedAs(
  verdict: 'disposable' | 'free' | 'relay',
  entry: string,
  list: NameList,
): DomainJudgement {
  const source = list.sourceOf(entry)
  return {
    ...UNLISTED,
    [verdict]: true,
    source: source === null ? null : { entry, list: source.name, date: source.date },
  }
}
