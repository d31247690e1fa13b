import { asciiName } from '@plumbline/contract/domain-name'
import type { BareOutcome, EmailFacts, Signal } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { BareOutcomes } from '@plumbline/contract/score'
import { getDomain } from 'tldts'
import { looksRandom } from './random-local.ts'
import { riskSignal } from '@plumbline/contract/signal'

/** A signal, the part of the record that it is about, and the group in which it counts. */
export interface Evidence {
  readonly part: Check | 'across'
  readonly signal: Signal
  /** Usually the signal's own group; another if two parts report the same point. */
  readonly group: string
}

/**
 * All signals of risk in a record's outcomes. Unknown facts give none. If the email's registrable
 * domain is the supplied domain, points that both parts know are put into one group, so that none
 * counts twice.
 */
export function gatherEvidence(outcomes: BareOutcomes): readonly Evidence[] {
  const { email, phone, ip, domain } = outcomes
  const sameName =
    email !== undefined &&
    domain !== undefined &&
    areSameName(email.facts.domain, domain.facts.domain)
  const found: Evidence[] = []
  const add = (part: Evidence['part'], signals: readonly Signal[]): void => {
    for (const signal of signals) {
      found.push({ part, signal, group: sameName ? sharedGroup(signal.group) : signal.group })
    }
  }
  if (email !== undefined) add('email', emailSignals(email))
  if (phone !== undefined) add('phone', phoneSignals(phone))
  if (ip !== undefined) add('ip', ip.facts.signals)
  if (domain !== undefined) add('domain', domain.facts.signals)
  add('across', acrossSignals(outcomes, sameName))
  return found
}

/**
 * That a domain does not work is one point, whether its mail, DNS or registration shows it. Whole
 * groups are merged, so that evidence on two names instead of one never lowers a risk.
 */
function sharedGroup(group: string): string {
  switch (group) {
    case 'email.mail':
    case 'domain.dns':
      return 'domain.registration'
    case 'domain.disposable':
      return 'email.disposable'
    default:
      return group
  }
}

function emailSignals({ facts, reason }: BareOutcome<'email'>): Signal[] {
  // A malformed address keeps what else is known of it, so that no fault lowers a risk.
  const signals = facts.syntaxValid ? [] : [riskSignal('email.syntax', 'invalid_syntax')]
  if (facts.acceptsMail === false) {
    const code = reason === 'no_domain' ? 'no_domain' : 'no_mail'
    signals.push(riskSignal('email.mail', code, { source: reason }))
  }
  if (facts.mailbox === 'missing') {
    signals.push(riskSignal('email.mailbox', 'mailbox_missing', { source: reason }))
  }
  if (facts.mailbox === 'disabled') {
    signals.push(riskSignal('email.mailbox', 'mailbox_disabled', { source: reason }))
  }
  if (facts.catchAll === true) signals.push(riskSignal('email.mailbox', 'catch_all'))
  const name = facts.domain === null ? {} : { value: facts.domain }
  if (facts.disposable) signals.push(riskSignal('email.disposable', 'disposable', name))
  if (facts.spamTrap) signals.push(riskSignal('email.spam_trap', 'spam_trap'))
  if (facts.freeProvider) signals.push(riskSignal('email.free', 'free_provider', name))
  return [...signals, ...localPartSignals(facts)]
}

function localPartSignals(facts: EmailFacts): Signal[] {
  const local = facts.address.slice(0, Math.max(0, facts.address.lastIndexOf('@')))
  const signals: Signal[] = []
  if (facts.roleAccount) signals.push(riskSignal('email.local', 'role'))
  if (local.indexOf('+') > 0) signals.push(riskSignal('email.local', 'plus_tag'))
  if (looksRandom(local)) signals.push(riskSignal('email.local', 'random_local'))
  return signals
}

function phoneSignals({ facts, reason }: BareOutcome<'phone'>): Signal[] {
  const signals: Signal[] = []
  if (!facts.valid) {
    const code = reason === 'impossible_number' ? 'impossible_number' : 'invalid_number'
    signals.push(riskSignal('phone.validity', code))
  }
  if (reason === 'hlr_unknown_subscriber') {
    signals.push(riskSignal('phone.validity', 'unknown_subscriber'))
  }
  if (reason === 'hlr_absent') signals.push(riskSignal('phone.validity', 'absent_subscriber'))
  if (facts.lineType === 'voip') signals.push(riskSignal('phone.kind', 'voip'))
  const kind = KINDS.find((name) => name === facts.numberType)
  if (kind !== undefined) signals.push(riskSignal('phone.kind', kind))
  if (facts.roaming === true) signals.push(riskSignal('phone.roaming', 'roaming'))
  return signals
}

/** Types of numbers that belong to no single person, as libphonenumber names them. */
const KINDS = ['premium_rate', 'shared_cost', 'pager', 'toll_free'] as const

function acrossSignals({ email, phone, ip, domain }: BareOutcomes, sameName: boolean): Signal[] {
  const signals: Signal[] = []
  const ipCountry = ip?.facts.countryCode ?? undefined
  const phoneCountry = phone?.facts.countryCode ?? undefined
  if (ipCountry !== undefined && phoneCountry !== undefined && ipCountry !== phoneCountry) {
    signals.push(
      riskSignal('ip.anonymity', 'country_mismatch', { value: [ipCountry, phoneCountry] }),
    )
  }
  const domainCountry = domain === undefined ? undefined : countryOfName(domain.facts.domain)
  if (ipCountry !== undefined && domainCountry !== undefined && ipCountry !== domainCountry) {
    signals.push(
      riskSignal('ip.anonymity', 'domain_country_mismatch', { value: [ipCountry, domainCountry] }),
    )
  }
  const emailDomain = email?.facts.domain ?? undefined
  if (emailDomain !== undefined && domain !== undefined && !sameName) {
    signals.push(
      riskSignal('across.domain', 'email_domain_mismatch', {
        value: [emailDomain, domain.facts.domain],
      }),
    )
  }
  if (isFresh(domain) && (phone?.facts.lineType === 'voip' || isHidden(ip))) {
    signals.push(riskSignal('across.fresh', 'fresh_and_hidden'))
  }
  return signals
}

const FRESH_DAYS = 30

function isFresh(domain: BareOutcome<'domain'> | undefined): boolean {
  const ageDays = domain?.facts.ageDays ?? null
  return ageDays !== null && ageDays >= 0 && ageDays < FRESH_DAYS
}

function isHidden(ip: BareOutcome<'ip'> | undefined): boolean {
  if (ip === undefined) return false
  const { isTor, isProxy, isVpn, isDatacenter } = ip.facts
  return isTor === true || isProxy === true || isVpn === true || isDatacenter === true
}

function areSameName(emailDomain: string | null, domain: string): boolean {
  return emailDomain !== null && registrable(emailDomain) === registrable(domain)
}

function registrable(text: string): string {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  const ascii = asciiName(name) || name.toLowerCase()
  return getDomain(ascii) ?? ascii
}

/** Country domains that are registered from anywhere, so that they do not indicate a country. */
const WORLDWIDE = new Set(
  'ac ag ai am as at bz cc cd co cx dj eu fm gd gg gl gs im in io is je la li ly me mn ms mu nu pw sc sh so st su tk ml ga cf gq tl to tv us vc vg vu ws'.split(
    ' ',
  ),
)

function countryOfName(name: string): string | undefined {
  const last = name.replace(/\.$/, '').split('.').at(-1)?.toLowerCase() ?? ''
  if (!/^[a-z]{2}$/.test(last) || WORLDWIDE.has(last)) return undefined
  return last === 'uk' ? 'GB' : last.toUpperCase()
}
