import type { Signal } from '@plumbline/contract/outcome'
import { ageSignal, riskSignal } from '@plumbline/contract/signal'
import type { DnsFacts } from './dns-facts.ts'
import type { MailPolicy } from './mail-policy.ts'
import type { Registration } from './registration.ts'
import { STATUS_PATTERNS } from './registration-status.ts'

/** The facts that the signals of a domain are derived from. */
export interface DomainEvidence {
  readonly registration: Registration
  readonly ageDays: number | null
  readonly dns: DnsFacts
  readonly mail: MailPolicy
  readonly disposable: boolean
  readonly parked: boolean | null
  readonly now: Date
}

/**
 * The risk signals of a domain. Unknown facts give none. An unregistered name has no DNS, mail or
 * age to judge, so it has one signal only; a lapsed one still has a record.
 */
export function domainSignals(evidence: DomainEvidence): Signal[] {
  const { registered, reason } = evidence.registration
  const free = registered === false && reason !== 'registration_lapsed'
  const signals = free
    ? [unregisteredSignal(evidence.registration.server ?? 'unknown')]
    : registeredSignals(evidence)
  if (evidence.disposable) signals.push(riskSignal('domain.disposable', 'disposable'))
  return signals
}

/** The signal of an invalid or unregistered name. */
export function unregisteredSignal(source?: string): Signal {
  return riskSignal('domain.registration', 'unregistered', source === undefined ? {} : { source })
}

function registeredSignals(evidence: DomainEvidence): Signal[] {
  const signals = [
    ...registrationSignals(evidence.registration, evidence.now),
    ...dnsSignals(evidence.dns, evidence.mail),
  ]
  const age = ageSignal(evidence.ageDays, evidence.registration.server ?? undefined)
  if (age !== undefined) signals.push(age)
  if (evidence.parked === true) signals.push(riskSignal('domain.parked', 'parked'))
  return signals
}

function registrationSignals(registration: Registration, now: Date): Signal[] {
  const source = registration.server ?? 'unknown'
  const { statuses, expires } = registration
  const signals = (['hold', 'redemption', 'pending_delete'] as const).flatMap((code) => {
    const value = statuses.find((status) => STATUS_PATTERNS[code].test(status))
    return value === undefined ? [] : [riskSignal('domain.registration', code, { value, source })]
  })
  if (expires !== null && Date.parse(expires) < now.getTime()) {
    signals.push(riskSignal('domain.registration', 'expired', { value: expires, source }))
  }
  return signals
}

function dnsSignals(dns: DnsFacts, mail: MailPolicy): Signal[] {
  const signals: Signal[] = []
  if (dns.resolves === false || dns.delegation.state === 'broken') {
    signals.push(riskSignal('domain.dns', 'broken', { value: dns.delegation.state }))
  }
  if (dns.mxFound === false) signals.push(riskSignal('domain.dns', 'no_mx'))
  const spf = mail.spfFound === false
  const dmarc = mail.dmarcFound === false
  if (spf && dmarc) signals.push(riskSignal('domain.dns', 'no_spf_no_dmarc'))
  else if (spf) signals.push(riskSignal('domain.dns', 'no_spf'))
  else if (dmarc) signals.push(riskSignal('domain.dns', 'no_dmarc'))
  return signals
}
