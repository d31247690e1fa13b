import type { DomainFacts, Json, Outcome } from '@plumbline/contract/outcome'
import type { DnsFacts } from './dns-facts.ts'
import type { MailPolicy } from './mail-policy.ts'
import type { BadName, DomainName } from './name.ts'
import type { Parked } from './parked.ts'
import type { Registration } from './registration.ts'
import { domainSignals, unregisteredSignal } from './risk-signals.ts'

/** Facts of one name that are known so far. */
export interface KnownFacts {
  readonly name: DomainName
  readonly registration: Registration
  readonly cached: boolean
  /** When the oldest fact was found out, in milliseconds since the Unix epoch; absent: just now. */
  readonly atMs?: number
  readonly dns: DnsFacts
  readonly mail: MailPolicy
  readonly disposable: boolean
  readonly parked: Parked
}

/** When an outcome was made, and how long it took. */
export interface Stamp {
  readonly now: Date
  readonly durationMs: number
}

/** DNS facts that are all unknown. */
export const NO_DNS: DnsFacts = {
  addresses: [],
  cname: null,
  mx: [],
  nullMx: false,
  mxFound: null,
  resolves: null,
  bogus: false,
  wildcard: null,
  unavailable: false,
  delegation: { state: 'unknown', nameServers: [], checks: [] },
}

/** A mail policy that is all unknown. */
export const NO_MAIL: MailPolicy = {
  spfFound: null,
  spfValid: null,
  dmarcFound: null,
  dmarcPolicy: null,
  dmarcDomain: null,
}

const ABSENT_DNS = { ...NO_DNS, resolves: false, mxFound: false }
const ABSENT_MAIL = { ...NO_MAIL, spfFound: false, dmarcFound: false }

const DAY_MS = 86_400_000

/** The outcome of a valid name: answered if a registry confirmed or denied the registration. */
export function domainOutcome(subject: string, found: KnownFacts, stamp: Stamp): Outcome<'domain'> {
  const { registration, dns, mail } = found
  const ageDays = ageInDays(registration.created, stamp.now)
  const signals = domainSignals({
    registration,
    ageDays,
    dns,
    mail,
    disposable: found.disposable,
    parked: found.parked.parked,
    now: stamp.now,
  })
  const facts: DomainFacts = {
    domain: subject,
    valid: registration.registered === true,
    registered: registration.registered,
    registrar: registration.registrar,
    createdDate: registration.created,
    expiryDate: registration.expires,
    ageDays,
    dnsHealthy: dns.resolves,
    mxFound: dns.mxFound,
    spfFound: mail.spfFound,
    dmarcFound: mail.dmarcFound,
    disposable: found.disposable,
    parked: found.parked.parked,
    signals,
  }
  return {
    kind: 'outcome',
    status: registration.registered === null ? 'unknown' : 'answered',
    reason: registration.reason,
    facts,
    evidence: evidenceOf(found),
    cached: found.cached,
    checkedAt: new Date(found.atMs ?? stamp.now).toISOString(),
    durationMs: stamp.durationMs,
  }
}

/**
 * The outcome of a text that is not a registrable name: answered, with the fault as evidence. A
 * public suffix with records is used as a name, so that it is no sign of risk.
 *
 * @param records of a public suffix; absent for other texts, which can have none
 */
export function badNameOutcome(
  subject: string,
  bad: BadName,
  stamp: Stamp,
  records?: { readonly dns: DnsFacts; readonly mail: MailPolicy },
): Outcome<'domain'> {
  const { dns, mail } = records ?? { dns: ABSENT_DNS, mail: ABSENT_MAIL }
  return {
    kind: 'outcome',
    status: 'answered',
    reason: bad.fault === 'public_suffix' ? 'public_suffix' : 'invalid_name',
    facts: {
      domain: subject,
      valid: false,
      registered: false,
      registrar: null,
      createdDate: null,
      expiryDate: null,
      ageDays: null,
      dnsHealthy: dns.resolves,
      mxFound: dns.mxFound,
      spfFound: mail.spfFound,
      dmarcFound: mail.dmarcFound,
      disposable: false,
      parked: false,
      signals: dns.resolves === false ? [unregisteredSignal()] : [],
    },
    evidence: { fault: bad.fault },
    cached: false,
    checkedAt: stamp.now.toISOString(),
    durationMs: stamp.durationMs,
  }
}

/** Whole days between the UTC days of two times, never below 0; null without a first. */
function ageInDays(created: string | null, now: Date): number | null {
  if (created === null) return null
  const from = Date.parse(created)
  if (Number.isNaN(from)) return null
  return Math.max(0, Math.floor(now.getTime() / DAY_MS) - Math.floor(from / DAY_MS))
}

function evidenceOf(found: KnownFacts): { readonly [key: string]: Json } {
  const { name, registration, dns, mail, parked } = found
  return {
    name: name.ascii,
    registrable: name.registrable,
    registration: {
      source: registration.source,
      server: registration.server,
      statuses: registration.statuses.slice(0, 20),
      reserved: registration.reserved,
      faults: registration.faults,
    },
    dns: {
      addresses: dns.addresses.slice(0, 8),
      cname: dns.cname,
      mx: dns.mx.slice(0, 8).map(({ preference, exchange }) => `${preference} ${exchange}`),
      null_mx: dns.nullMx,
      dnssec_bogus: dns.bogus,
      wildcard: dns.wildcard,
      ...(dns.unavailable ? { unavailable: true } : {}),
      delegation: dns.delegation.state,
      name_servers: dns.delegation.nameServers.slice(0, 13),
      name_server_checks: dns.delegation.checks.map(
        ({ server, verdict }) => `${server} ${verdict}`,
      ),
    },
    mail: {
      spf_valid: mail.spfValid,
      dmarc_policy: mail.dmarcPolicy,
      dmarc_domain: mail.dmarcDomain,
    },
    parked: [...parked.signs],
  }
}
