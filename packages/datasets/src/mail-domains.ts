import { loadNames } from './load.ts'
import type { NameList } from './name-list.ts'
import type { ListSource } from './source.ts'

/** The reference lists by which a mail domain is judged. */
export interface MailDomainLists {
  readonly disposable: NameList
  readonly disposableAllow: NameList
  readonly privacyRelay: NameList
  readonly free: NameList
}

/** Result of looking up a mail domain in the lists, with the matching entry and its source. */
export interface MailDomainJudgment {
  readonly disposable: boolean
  readonly freeProvider: boolean
  /** Whether it is a forwarding service for permanent mailboxes; never also disposable. */
  readonly privacyRelay: boolean
  readonly evidence: { readonly entry: string; readonly source: ListSource } | null
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
 * Looks up a domain (lower-case A-labels) and its parents in the lists. The allow-list comes first,
 * then privacy relays, then disposable, then free providers, whose lists contain disposable names
 * too. A domain that is itself a free provider is not disposable because of a parent: the most
 * specific entry wins.
 */
export function judgeMailDomain(lists: MailDomainLists, domain: string): MailDomainJudgment {
  const free = freeEntry(lists, domain)
  const relay = lists.privacyRelay.match(domain)
  if (relay !== null) return judgement('privacyRelay', relay, lists.privacyRelay)
  const disposable = lists.disposableAllow.has(domain) ? null : lists.disposable.match(domain)
  const inherited = disposable !== null && disposable !== domain
  if (disposable !== null && !(inherited && free !== null)) {
    return judgement('disposable', disposable, lists.disposable)
  }
  if (free !== null) return judgement('freeProvider', free, lists.free)
  return { disposable: false, freeProvider: false, privacyRelay: false, evidence: null }
}

/**
 * Matches a free provider's own domain only: a host below it belongs to a customer or is a machine.
 */
function freeEntry(lists: MailDomainLists, domain: string): string | null {
  return lists.free.exact(domain) ? domain : null
}

function judgement(
  verdict: 'disposable' | 'freeProvider' | 'privacyRelay',
  entry: string,
  list: NameList,
): MailDomainJudgment {
  const source = list.sourceOf(entry)
  return {
    disposable: verdict === 'disposable',
    freeProvider: verdict === 'freeProvider',
    privacyRelay: verdict === 'privacyRelay',
    evidence: source === null ? null : { entry, source },
  }
}
