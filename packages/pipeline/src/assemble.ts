import type {
  DomainFacts,
  EmailFacts,
  IpFacts,
  Json,
  PhoneFacts,
} from '@plumbline/contract/outcome'
import { checksGiven, priceCredits, type Product } from '@plumbline/contract/products'
import { riskLevel, type ResultOf } from '@plumbline/contract/results'
import type { BareOutcomes, Outcomes, Score, Scorer } from '@plumbline/contract/score'
import {
  confirmed,
  deliverableEmail,
  intelEmail,
  intelParts,
  intelPhone,
  safetyScore,
  signalsEmail,
  signalsParts,
  takesMail,
  isTrue,
} from './bundle-parts.ts'
import { explainParts, explainScore } from './explain.ts'

/** A result and the evidence for it. */
export interface Assembled {
  readonly result: ResultOf
  readonly explain: { readonly [part: string]: Json }
}

/**
 * Makes the result of a product from its outcomes: one function for single calls and batches.
 * A check is part of the product exactly when its outcome is there.
 *
 * @throws if the outcome of the product's required check is missing: a bug of the caller
 */
export function assemble(product: Product, outcomes: Outcomes, scorer: Scorer): Assembled {
  const credits_used = priceCredits(product, checksGiven(outcomes))
  if (product !== 'fraud-signals') {
    return {
      result: plainResult(product, outcomes, scorer, credits_used),
      explain: explainParts(outcomes),
    }
  }
  const score = scorer.fraud(outcomes)
  return {
    result: fraudSignals(outcomes, scorer, score, credits_used),
    explain: { ...explainParts(outcomes), fraud_score: explainScore(score) },
  }
}

/** The result without evidence, for the many rows of a batch. */
export function assembleResult(product: Product, outcomes: BareOutcomes, scorer: Scorer): ResultOf {
  const credits_used = priceCredits(product, checksGiven(outcomes))
  return product === 'fraud-signals'
    ? fraudSignals(outcomes, scorer, scorer.fraud(outcomes), credits_used)
    : plainResult(product, outcomes, scorer, credits_used)
}

/** A result that lacks unknown parts. */
export interface PartialResult {
  readonly credits_used: number
  readonly [field: string]: unknown
}

/**
 * The known part of a bundle whose other parts have no outcome, each field as in the whole result.
 * A score is left out, as it rates the whole record. `credits_used` is the price of the known
 * parts.
 */
export function assembleKnown(
  product: Product,
  outcomes: BareOutcomes,
  scorer: Scorer,
): PartialResult {
  const credits_used = priceCredits(product, checksGiven(outcomes))
  const { email, phone } = outcomes
  switch (product) {
    case 'deliverability':
      return {
        ...(email === undefined ? {} : deliverableEmail(email.facts)),
        ...(phone === undefined ? {} : { phone: intelPhone(phone) }),
        credits_used,
      }
    case 'contact-intel':
      return {
        ...(email === undefined ? {} : { email: intelEmail(email.facts) }),
        ...intelParts(outcomes, scorer),
        credits_used,
      }
    case 'fraud-signals':
      return {
        ...(email === undefined ? {} : { email: signalsEmail(email.facts) }),
        ...signalsParts(outcomes, scorer),
        credits_used,
      }
    case 'email':
    case 'phone':
    case 'ip':
    case 'domain':
      throw new Error(`a record of ${product} has one part: it is known whole or not at all`)
  }
}

function plainResult(
  product: Exclude<Product, 'fraud-signals'>,
  outcomes: BareOutcomes,
  scorer: Scorer,
  credits_used: number,
): ResultOf {
  switch (product) {
    case 'email':
      return emailResult(factsOf(outcomes.email), credits_used)
    case 'phone':
      return phoneResult(factsOf(outcomes.phone), credits_used)
    case 'ip':
      return ipResult(factsOf(outcomes.ip), scorer, credits_used)
    case 'domain':
      return domainResult(factsOf(outcomes.domain), scorer, credits_used)
    case 'deliverability':
      return deliverability(outcomes, credits_used)
    case 'contact-intel':
      return contactIntel(outcomes, scorer, credits_used)
  }
}

function factsOf<F>(outcome: { readonly facts: F } | undefined): F {
  if (outcome === undefined) throw new Error('the outcome of a required check is missing')
  return outcome.facts
}

/** Decision 23, the single result: nothing proves that the mailbox does not exist. */
function validMailbox(email: EmailFacts): boolean {
  return takesMail(email) && email.mailbox !== 'missing' && email.mailbox !== 'disabled'
}

function emailResult(email: EmailFacts, credits_used: number): ResultOf<'email'> {
  return {
    email: email.address,
    valid: validMailbox(email),
    deliverable: confirmed(email),
    syntax_valid: email.syntaxValid,
    mx_found: isTrue(email.mxFound),
    smtp_valid: isTrue(email.smtpValid),
    disposable: email.disposable,
    role_account: email.roleAccount,
    free_provider: email.freeProvider,
    domain: email.domain,
    credits_used,
  }
}

function phoneResult(phone: PhoneFacts, credits_used: number): ResultOf<'phone'> {
  return {
    phone: phone.number,
    valid: phone.valid,
    reachable: isTrue(phone.reachable),
    country: phone.country,
    country_code: phone.countryCode,
    national_format: phone.nationalFormat,
    line_type: phone.lineType,
    carrier: phone.carrier,
    carrier_country: phone.carrierCountry,
    ported: isTrue(phone.ported),
    roaming: isTrue(phone.roaming),
    credits_used,
  }
}

function ipResult(ip: IpFacts, scorer: Scorer, credits_used: number): ResultOf<'ip'> {
  return {
    ip: ip.ip,
    valid: ip.valid,
    country: ip.country,
    country_code: ip.countryCode,
    region: ip.region,
    city: ip.city,
    latitude: ip.latitude,
    longitude: ip.longitude,
    timezone: ip.timezone,
    isp: ip.isp,
    asn: ip.asn,
    is_vpn: isTrue(ip.isVpn),
    is_proxy: isTrue(ip.isProxy),
    is_tor: isTrue(ip.isTor),
    is_datacenter: isTrue(ip.isDatacenter),
    threat_score: scorer.risk(ip.signals),
    credits_used,
  }
}

function domainResult(
  domain: DomainFacts,
  scorer: Scorer,
  credits_used: number,
): ResultOf<'domain'> {
  return {
    domain: domain.domain,
    valid: domain.valid,
    registered: isTrue(domain.registered),
    registrar: domain.registrar,
    created_date: domain.createdDate,
    expiry_date: domain.expiryDate,
    age_days: domain.ageDays ?? -1,
    dns_healthy: isTrue(domain.dnsHealthy),
    mx_found: isTrue(domain.mxFound),
    spf_found: isTrue(domain.spfFound),
    dmarc_found: isTrue(domain.dmarcFound),
    disposable: domain.disposable,
    parked: isTrue(domain.parked),
    safety_score: safetyScore(domain, scorer),
    credits_used,
  }
}

function deliverability(outcomes: BareOutcomes, credits_used: number): ResultOf<'deliverability'> {
  const { phone } = outcomes
  return {
    ...deliverableEmail(factsOf(outcomes.email)),
    ...(phone === undefined ? {} : { phone: intelPhone(phone) }),
    credits_used,
  }
}

function contactIntel(
  outcomes: BareOutcomes,
  scorer: Scorer,
  credits_used: number,
): ResultOf<'contact-intel'> {
  return {
    email: intelEmail(factsOf(outcomes.email)),
    ...intelParts(outcomes, scorer),
    credits_used,
  }
}

function fraudSignals(
  outcomes: BareOutcomes,
  scorer: Scorer,
  score: Score,
  credits_used: number,
): ResultOf<'fraud-signals'> {
  return {
    fraud_score: score.score,
    risk_level: riskLevel(score.score),
    email: signalsEmail(factsOf(outcomes.email)),
    ...signalsParts(outcomes, scorer),
    credits_used,
  }
}
