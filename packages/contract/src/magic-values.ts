import type { EmailFacts, DomainFacts, IpFacts, PhoneFacts, Signal } from './outcome.ts'
import type { Check } from './products.ts'
import type { Reason } from './reasons.ts'

/** A magic value with an outcome: its reason, and facts that differ from the check's usual ones. */
export interface MagicOutcome<C extends Check, F> {
  readonly value: string
  readonly reason: Reason<C>
  readonly facts?: Partial<F>
}

/** Refusals and delays that a test key can request, by the word in the value. */
export const MAGIC_FAULTS = {
  'status-402': { problem: 'payment_required' },
  'status-429': { problem: 'too_many_requests' },
  'status-500': { problem: 'internal' },
  'status-503': { problem: 'unavailable' },
  'status-504': { problem: 'timeout' },
  slow: { delayMs: 3_000 },
} as const
/** A word that stands for a refusal or a delay. */
export type MagicFault = keyof typeof MAGIC_FAULTS

/** The domain of all magic names; `.test` is never delegated (RFC 6761 6.2). */
export const MAGIC_DOMAIN = 'magic.test'

const refused = { smtpValid: false } as const
const homeless = { ...refused, mxFound: false, acceptsMail: false, confidence: 'high' } as const
const unrouted = { mxFound: null, acceptsMail: null } as const

function at(local: string): string {
  return `${local}@${MAGIC_DOMAIN}`
}

/** One address for every email outcome and flag. */
export const MAGIC_EMAILS: readonly MagicOutcome<'email', EmailFacts>[] = [
  { value: at('accepted'), reason: 'accepted' },
  { value: at('disposable'), reason: 'accepted', facts: { disposable: true } },
  { value: at('role-account'), reason: 'accepted', facts: { roleAccount: true } },
  { value: at('free-provider'), reason: 'accepted', facts: { freeProvider: true } },
  { value: at('spam-trap'), reason: 'accepted', facts: { spamTrap: true } },
  { value: at('accept-all'), reason: 'accept_all', facts: { catchAll: true, confidence: 'low' } },
  {
    value: at('accept-means-nothing'),
    reason: 'accept_means_nothing',
    facts: { catchAll: true, confidence: 'low' },
  },
  { value: at('accepted-exists'), reason: 'accepted_exists', facts: refused },
  {
    value: at('invalid-syntax'),
    reason: 'invalid_syntax',
    facts: { ...unrouted, syntaxValid: false, confidence: 'high' },
  },
  { value: at('domain-literal'), reason: 'domain_literal', facts: unrouted },
  { value: at('no-domain'), reason: 'no_domain', facts: homeless },
  { value: at('null-mx'), reason: 'null_mx', facts: homeless },
  { value: at('no-mail-host'), reason: 'no_mail_host', facts: homeless },
  {
    value: at('mailbox-not-found'),
    reason: 'mailbox_not_found',
    facts: { ...refused, mailbox: 'missing', catchAll: false, confidence: 'high' },
  },
  {
    value: at('mailbox-disabled'),
    reason: 'mailbox_disabled',
    facts: { ...refused, mailbox: 'disabled', confidence: 'high' },
  },
  {
    value: at('mailbox-full'),
    reason: 'mailbox_full',
    facts: { ...refused, mailbox: 'full', confidence: 'medium' },
  },
  { value: at('relay-denied'), reason: 'relay_denied' },
  { value: at('greylisted'), reason: 'greylisted' },
  { value: at('blocked'), reason: 'blocked' },
  { value: at('blanket-reject'), reason: 'blanket_reject' },
  { value: at('rate-limited'), reason: 'rate_limited' },
  { value: at('server-error'), reason: 'server_error' },
  { value: at('unclassified-reply'), reason: 'unclassified_reply' },
  { value: at('smtputf8-unsupported'), reason: 'smtputf8_unsupported' },
  { value: at('connect-failed'), reason: 'connect_failed' },
  { value: at('protocol-error'), reason: 'protocol_error' },
  { value: at('smtp-unavailable'), reason: 'smtp_unavailable' },
  { value: at('probing-off'), reason: 'probing_off' },
  { value: at('probe-limit'), reason: 'probe_limit' },
  { value: at('opted-out'), reason: 'opted_out' },
  { value: at('dns-failed'), reason: 'dns_failed', facts: unrouted },
  { value: at('dns-unavailable'), reason: 'dns_unavailable', facts: unrouted },
  { value: at('unsafe-host'), reason: 'unsafe_host' },
  { value: at('timeout'), reason: 'timeout', facts: unrouted },
]

/**
 * Facts of an accepted email by depth of the check, and of an unknown one. An acceptance is certain
 * only if the domain is known not to be accept-all.
 */
export const EMAIL_FACTS = {
  accepted: {
    basic: { smtpValid: true, mailbox: 'accepted', catchAll: null, confidence: 'medium' },
    extended: { smtpValid: true, mailbox: 'accepted', catchAll: false, confidence: 'high' },
  },
  other: { smtpValid: null, mailbox: 'unknown', catchAll: null, confidence: 'low' },
} as const

const unasked = { reachable: null, ported: null, roaming: null } as const
const carrierless = { carrier: null, carrierCountry: null } as const
const nobodys = {
  ...unasked,
  ...carrierless,
  valid: false,
  lineType: 'unknown',
  numberType: null,
  country: null,
  countryCode: null,
} as const

/**
 * One number for every phone outcome and line type; NANP 555-0100 to 555-0199 is reserved for
 * fiction.
 */
export const MAGIC_PHONES: readonly MagicOutcome<'phone', PhoneFacts>[] = [
  { value: '+12025550100', reason: 'hlr_connected' },
  { value: '+12025550101', reason: 'hlr_connected', facts: { ported: true } },
  { value: '+12025550102', reason: 'hlr_connected', facts: { roaming: true } },
  {
    value: '+12025550103',
    reason: 'hlr_connected',
    facts: { lineType: 'voip', numberType: 'voip' },
  },
  { value: '+12025550104', reason: 'hlr_absent', facts: { reachable: false } },
  {
    value: '+12025550105',
    reason: 'hlr_unknown_subscriber',
    facts: { reachable: false },
  },
  { value: '+12025550106', reason: 'hlr_undetermined', facts: unasked },
  { value: '+12025550107', reason: 'hlr_in_doubt', facts: unasked },
  {
    value: '+12025550108',
    reason: 'hlr_not_applicable',
    facts: { ...unasked, ...carrierless, lineType: 'landline', numberType: 'fixed_line' },
  },
  { value: '+12025550109', reason: 'hlr_paused', facts: unasked },
  { value: '+12025550110', reason: 'hlr_failed', facts: unasked },
  { value: '+12025550111', reason: 'hlr_throttled', facts: unasked },
  {
    value: '+12025550112',
    reason: 'no_hlr_provider',
    facts: {
      ...unasked,
      ...carrierless,
      lineType: 'unknown',
      numberType: 'fixed_line_or_mobile',
    },
  },
  {
    value: '+12025550113',
    reason: 'impossible_number',
    facts: { ...nobodys, nationalFormat: null },
  },
  { value: '+12025550114', reason: 'invalid_number', facts: nobodys },
  { value: '+12025550115', reason: 'timeout', facts: unasked },
]

/** Numbers that give a refusal or delay. */
export const MAGIC_FAULT_PHONES: Readonly<Record<string, MagicFault>> = {
  '+12025550142': 'status-402',
  '+12025550129': 'status-429',
  '+12025550150': 'status-500',
  '+12025550153': 'status-503',
  '+12025550154': 'status-504',
  '+12025550199': 'slow',
}

const nowhere = {
  country: null,
  countryCode: null,
  region: null,
  city: null,
  latitude: null,
  longitude: null,
  timezone: null,
  isp: null,
  asn: null,
} as const

const unflagged = {
  isVpn: null,
  isProxy: null,
  isTor: null,
  isDatacenter: null,
  isRelay: null,
} as const

function flagged(group: string, ...codes: readonly string[]): readonly Signal[] {
  return codes.map((code) => ({ group, code, source: 'magic' }))
}

/**
 * One address for every IP outcome and flag; 192.0.2.0/24 is reserved for documentation (RFC 5737).
 */
export const MAGIC_IPS: readonly MagicOutcome<'ip', IpFacts>[] = [
  { value: '192.0.2.1', reason: 'located' },
  {
    value: '192.0.2.2',
    reason: 'located',
    facts: { isVpn: true, signals: flagged('ip.anonymity', 'vpn') },
  },
  {
    value: '192.0.2.3',
    reason: 'located',
    facts: { isProxy: true, signals: flagged('ip.anonymity', 'public_proxy') },
  },
  {
    value: '192.0.2.4',
    reason: 'located',
    facts: { isTor: true, signals: flagged('ip.anonymity', 'tor') },
  },
  {
    value: '192.0.2.5',
    reason: 'located',
    facts: { isDatacenter: true, signals: flagged('ip.anonymity', 'datacenter') },
  },
  {
    value: '192.0.2.6',
    reason: 'located',
    facts: { isRelay: true, signals: flagged('ip.anonymity', 'private_relay') },
  },
  {
    value: '192.0.2.7',
    reason: 'not_routable',
    facts: { ...nowhere, valid: false, signals: flagged('ip.anonymity', 'bogon') },
  },
  { value: '192.0.2.8', reason: 'no_data', facts: nowhere },
  { value: '192.0.2.9', reason: 'timeout', facts: { ...nowhere, ...unflagged, valid: false } },
]

/** Addresses that give a refusal or delay. */
export const MAGIC_FAULT_IPS: Readonly<Record<string, MagicFault>> = {
  '192.0.2.142': 'status-402',
  '192.0.2.129': 'status-429',
  '192.0.2.150': 'status-500',
  '192.0.2.153': 'status-503',
  '192.0.2.154': 'status-504',
  '192.0.2.199': 'slow',
}

const unseen = {
  registrar: null,
  createdDate: null,
  expiryDate: null,
  ageDays: null,
} as const
const untold = { ...unseen, valid: false, registered: null } as const
const unresolved = {
  dnsHealthy: null,
  mxFound: null,
  spfFound: null,
  dmarcFound: null,
  parked: null,
} as const
const broken = { dnsHealthy: false, mxFound: false, spfFound: false, dmarcFound: false } as const
const absent = {
  ...unseen,
  valid: false,
  registered: false,
  ...broken,
  parked: false,
  signals: flagged('domain.registration', 'unregistered'),
} as const

/** One name for every domain outcome and flag. */
export const MAGIC_DOMAINS: readonly MagicOutcome<'domain', DomainFacts>[] = [
  { value: `registered.${MAGIC_DOMAIN}`, reason: 'registered' },
  {
    value: `new.${MAGIC_DOMAIN}`,
    reason: 'registered',
    facts: {
      createdDate: '2025-12-29T00:00:00Z',
      ageDays: 3,
      signals: flagged('domain.age', 'under_7_days'),
    },
  },
  {
    value: `disposable.${MAGIC_DOMAIN}`,
    reason: 'registered',
    facts: {
      disposable: true,
      signals: flagged('domain.disposable', 'disposable'),
    },
  },
  {
    value: `parked.${MAGIC_DOMAIN}`,
    reason: 'registered',
    facts: { parked: true, signals: flagged('domain.parked', 'parked') },
  },
  {
    value: `unhealthy.${MAGIC_DOMAIN}`,
    reason: 'registered',
    facts: {
      ...broken,
      signals: flagged('domain.dns', 'broken', 'no_mx', 'no_spf_no_dmarc'),
    },
  },
  {
    value: `lapsed.${MAGIC_DOMAIN}`,
    reason: 'registration_lapsed',
    facts: {
      valid: false,
      registered: false,
      expiryDate: '2025-11-01T00:00:00Z',
      ...broken,
      signals: [
        ...flagged('domain.registration', 'redemption', 'pending_delete', 'expired'),
        ...flagged('domain.dns', 'broken', 'no_mx', 'no_spf_no_dmarc'),
      ],
    },
  },
  { value: `unregistered.${MAGIC_DOMAIN}`, reason: 'unregistered', facts: absent },
  { value: `invalid-name.${MAGIC_DOMAIN}`, reason: 'invalid_name', facts: absent },
  { value: `public-suffix.${MAGIC_DOMAIN}`, reason: 'public_suffix', facts: absent },
  {
    value: `no-registry-data.${MAGIC_DOMAIN}`,
    reason: 'no_registry_data',
    facts: untold,
  },
  {
    value: `registry-throttled.${MAGIC_DOMAIN}`,
    reason: 'registry_throttled',
    facts: untold,
  },
  {
    value: `registry-failed.${MAGIC_DOMAIN}`,
    reason: 'registry_failed',
    facts: untold,
  },
  {
    value: `dns-unavailable.${MAGIC_DOMAIN}`,
    reason: 'dns_unavailable',
    facts: { ...untold, ...unresolved },
  },
  {
    value: `timeout.${MAGIC_DOMAIN}`,
    reason: 'timeout',
    facts: { ...untold, ...unresolved },
  },
]
