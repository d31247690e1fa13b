import type { Check } from './products.ts'
import type { Reason } from './reasons.ts'

/** Plain JSON, as stored for evidence and cached facts. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json }

/** Facts of an email address. Null is "could not be found out", never "no". */
export interface EmailFacts {
  /** The address as asked. */
  readonly address: string
  /**
   * Lower-case A-label domain, provider dots and tags removed; the address itself when unparsable.
   */
  readonly normalized: string
  /** Domain part as A-label; null when there is none. */
  readonly domain: string | null
  readonly syntaxValid: boolean
  /** A usable MX record exists. */
  readonly mxFound: boolean | null
  /** Whether a host that accepts mail exists: MX, or A/AAAA without a null MX. */
  readonly acceptsMail: boolean | null
  /** The server answered 250 or 251 to RCPT for this address. */
  readonly smtpValid: boolean | null
  /** The state of the mailbox, as far as it is proven. */
  readonly mailbox: 'accepted' | 'missing' | 'disabled' | 'full' | 'unknown'
  readonly catchAll: boolean | null
  readonly disposable: boolean
  readonly roleAccount: boolean
  readonly freeProvider: boolean
  readonly spamTrap: boolean
  /** Confidence in the status. */
  readonly confidence: 'high' | 'medium' | 'low'
}

/** Facts of a phone number; null if a fact could not be found out. */
export interface PhoneFacts {
  /** E.164. */
  readonly number: string
  readonly valid: boolean
  readonly reachable: boolean | null
  /** English country name and ISO 3166-1 alpha-2 code; null for non-geographic numbers. */
  readonly country: string | null
  readonly countryCode: string | null
  readonly nationalFormat: string | null
  readonly lineType: 'mobile' | 'landline' | 'voip' | 'unknown'
  /**
   * libphonenumber's own type, for scoring (`toll_free`, `premium_rate`, ...); null when unknown.
   */
  readonly numberType: string | null
  readonly carrier: string | null
  /** English country name of the carrier's country. */
  readonly carrierCountry: string | null
  readonly ported: boolean | null
  readonly roaming: boolean | null
}

/** Facts of an IP address; null if a fact could not be found out. */
export interface IpFacts {
  /** The address as asked. */
  readonly ip: string
  readonly valid: boolean
  readonly country: string | null
  readonly countryCode: string | null
  readonly region: string | null
  readonly city: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly timezone: string | null
  readonly isp: string | null
  /** Number of the autonomous system, such as `AS15169`. */
  readonly asn: string | null
  readonly isVpn: boolean | null
  readonly isProxy: boolean | null
  readonly isTor: boolean | null
  readonly isDatacenter: boolean | null
  /** A benign relay such as iCloud Private Relay; never also VPN. */
  readonly isRelay: boolean | null
  /** Signals of risk; scores weight them. */
  readonly signals: readonly Signal[]
}

/** Facts of a domain; null if a fact could not be found out. */
export interface DomainFacts {
  /** The name as asked. */
  readonly domain: string
  readonly valid: boolean
  readonly registered: boolean | null
  readonly registrar: string | null
  /** ISO 8601, UTC. */
  readonly createdDate: string | null
  readonly expiryDate: string | null
  /** Whole days since registration by the UTC day; null when unknown. */
  readonly ageDays: number | null
  readonly dnsHealthy: boolean | null
  readonly mxFound: boolean | null
  readonly spfFound: boolean | null
  readonly dmarcFound: boolean | null
  readonly disposable: boolean
  readonly parked: boolean | null
  /** Signals of risk; scores weight them, as for IP addresses. */
  readonly signals: readonly Signal[]
}

/** The facts of each check. */
export interface FactsOf {
  readonly email: EmailFacts
  readonly phone: PhoneFacts
  readonly ip: IpFacts
  readonly domain: DomainFacts
}

/** A signal of risk: `group` and `code` name a row of the weights table. */
export interface Signal {
  readonly group: string
  readonly code: string
  readonly value?: Json
  readonly source?: string
}

/** Status of an email address. */
export type EmailStatus = 'deliverable' | 'undeliverable' | 'risky' | 'unknown'

/** An outcome without its evidence: the part from which results and scores are made. */
export interface BareOutcome<C extends Check = Check> {
  readonly status: C extends 'email' ? EmailStatus : 'answered' | 'unknown'
  readonly reason: Reason<C>
  readonly facts: FactsOf[C]
  /** For an email, the domain that was probably meant; absent or null if there is none. */
  readonly suggestedDomain?: string | null
}

/** The outcome of a check: facts, a status, a reason from a closed list, and the evidence. */
export interface Outcome<C extends Check = Check> extends BareOutcome<C> {
  readonly kind: 'outcome'
  readonly evidence: { readonly [key: string]: Json }
  /** Whether the deciding fact came from memory rather than from the network. */
  readonly cached: boolean
  /** ISO 8601, UTC. */
  readonly checkedAt: string
  readonly durationMs: number
}
