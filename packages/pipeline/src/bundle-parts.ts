import type { DomainFacts, EmailFacts } from '@plumbline/contract/outcome'
import type { ResultOf } from '@plumbline/contract/results'
import type { BareOutcomes, Scorer } from '@plumbline/contract/score'

// Parts of bundles, each made from its own outcome.

/** A fact that could not be found out counts as false (decision 1). */
export function isTrue(fact: boolean | null): boolean {
  return fact === true
}

/** Decision 22: accepted, and the domain is not known to be accept-all. */
export function confirmed(email: EmailFacts): boolean {
  return isTrue(email.smtpValid) && !isTrue(email.catchAll)
}

/** Decision 23, the bundles: valid syntax and a host that accepts mail. */
export function takesMail(email: EmailFacts): boolean {
  return email.syntaxValid && isTrue(email.acceptsMail)
}

/** Decision 30: 100 minus the risk. */
export function safetyScore(domain: DomainFacts, scorer: Scorer): number {
  return 100 - scorer.risk(domain.signals)
}

/** The fields of the email in `deliverability`. */
export function deliverableEmail(
  email: EmailFacts,
): Omit<ResultOf<'deliverability'>, 'phone' | 'credits_used'> {
  return {
    email: email.address,
    deliverable: isTrue(email.smtpValid),
    confidence: isTrue(email.catchAll) ? 'low' : email.confidence,
    syntax_valid: email.syntaxValid,
    mx_found: isTrue(email.mxFound),
    smtp_valid: isTrue(email.smtpValid),
    spam_trap: email.spamTrap,
    disposable: email.disposable,
    catch_all: isTrue(email.catchAll),
    role_account: email.roleAccount,
    free_provider: email.freeProvider,
    domain: email.domain,
  }
}

/** The email of contact intelligence. */
export function intelEmail(email: EmailFacts): ResultOf<'contact-intel'>['email'] {
  return {
    address: email.normalized,
    valid: takesMail(email),
    deliverable: confirmed(email),
    disposable: email.disposable,
    role_account: email.roleAccount,
    mx_found: isTrue(email.mxFound),
  }
}

type PhoneOutcome = NonNullable<BareOutcomes['phone']>

/** The phone of contact intelligence, and that of `deliverability` (decision 29). */
export function intelPhone(phone: PhoneOutcome): NonNullable<ResultOf<'contact-intel'>['phone']> {
  const { facts } = phone
  return {
    number: facts.number,
    valid: dialable(phone),
    reachable: isTrue(facts.reachable),
    line_type: facts.lineType,
    carrier: facts.carrier,
    country_code: facts.countryCode,
  }
}

/** Decision 26: valid by the numbering plan, and no network says that it has no such subscriber. */
function dialable({ facts, reason }: PhoneOutcome): boolean {
  return facts.valid && reason !== 'hlr_unknown_subscriber'
}

/** The optional parts of contact intelligence that have outcomes. */
export function intelParts(
  { phone, ip, domain }: BareOutcomes,
  scorer: Scorer,
): Pick<ResultOf<'contact-intel'>, 'phone' | 'ip' | 'domain'> {
  return {
    ...(phone === undefined ? {} : { phone: intelPhone(phone) }),
    ...(ip === undefined
      ? {}
      : {
          ip: {
            address: ip.facts.ip,
            country_code: ip.facts.countryCode,
            city: ip.facts.city,
            is_vpn: isTrue(ip.facts.isVpn),
            is_proxy: isTrue(ip.facts.isProxy),
            is_tor: isTrue(ip.facts.isTor),
            threat_score: scorer.risk(ip.facts.signals),
          },
        }),
    ...(domain === undefined
      ? {}
      : {
          domain: {
            domain: domain.facts.domain,
            registered: isTrue(domain.facts.registered),
            age_days: domain.facts.ageDays ?? -1,
            dns_healthy: isTrue(domain.facts.dnsHealthy),
            disposable: domain.facts.disposable,
            safety_score: safetyScore(domain.facts, scorer),
          },
        }),
  }
}

/** The email of fraud signals. */
export function signalsEmail(email: EmailFacts): ResultOf<'fraud-signals'>['email'] {
  return {
    address: email.normalized,
    valid: takesMail(email),
    deliverable: confirmed(email),
    disposable: email.disposable,
    spam_trap: email.spamTrap,
    role_account: email.roleAccount,
  }
}

/** The optional parts of fraud signals that have outcomes. */
export function signalsParts(
  { phone, ip, domain }: BareOutcomes,
  scorer: Scorer,
): Pick<ResultOf<'fraud-signals'>, 'phone' | 'ip' | 'domain'> {
  return {
    ...(phone === undefined
      ? {}
      : {
          phone: {
            number: phone.facts.number,
            valid: dialable(phone),
            reachable: isTrue(phone.facts.reachable),
            line_type: phone.facts.lineType,
            carrier: phone.facts.carrier,
            ported: isTrue(phone.facts.ported),
          },
        }),
    ...(ip === undefined
      ? {}
      : {
          ip: {
            address: ip.facts.ip,
            country_code: ip.facts.countryCode,
            is_vpn: isTrue(ip.facts.isVpn),
            is_proxy: isTrue(ip.facts.isProxy),
            is_tor: isTrue(ip.facts.isTor),
            is_datacenter: isTrue(ip.facts.isDatacenter),
            threat_score: scorer.risk(ip.facts.signals),
          },
        }),
    ...(domain === undefined
      ? {}
      : {
          domain: {
            domain: domain.facts.domain,
            registered: isTrue(domain.facts.registered),
            age_days: domain.facts.ageDays ?? -1,
            disposable: domain.facts.disposable,
            safety_score: safetyScore(domain.facts, scorer),
          },
        }),
  }
}
