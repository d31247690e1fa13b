import type {
  DomainFacts,
  EmailFacts,
  IpFacts,
  Outcome,
  PhoneFacts,
  Signal,
} from '@plumbline/contract/outcome'

const around = {
  kind: 'outcome',
  evidence: {},
  cached: false,
  checkedAt: '',
  durationMs: 0,
} as const

/** A harmless outcome of an email check, with the given changes. */
export function email(
  facts: Partial<EmailFacts> = {},
  more: Partial<Outcome<'email'>> = {},
): Outcome<'email'> {
  const plain: EmailFacts = {
    address: 'ann.lee@firm.example',
    normalized: 'ann.lee@firm.example',
    domain: 'firm.example',
    syntaxValid: true,
    mxFound: true,
    acceptsMail: true,
    smtpValid: true,
    mailbox: 'accepted',
    catchAll: false,
    disposable: false,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    confidence: 'high',
  }
  return {
    ...around,
    status: 'deliverable',
    reason: 'accepted',
    facts: { ...plain, ...facts },
    ...more,
  }
}

/** A harmless outcome of a phone check, with the given changes. */
export function phone(
  facts: Partial<PhoneFacts> = {},
  more: Partial<Outcome<'phone'>> = {},
): Outcome<'phone'> {
  const plain: PhoneFacts = {
    number: '+442079460958',
    valid: true,
    reachable: true,
    country: 'United Kingdom',
    countryCode: 'GB',
    nationalFormat: null,
    lineType: 'mobile',
    numberType: 'mobile',
    carrier: null,
    carrierCountry: null,
    ported: false,
    roaming: false,
  }
  return {
    ...around,
    status: 'answered',
    reason: 'hlr_connected',
    facts: { ...plain, ...facts },
    ...more,
  }
}

/** A harmless outcome of an ip check, with the given changes. */
export function ip(signals: readonly Signal[] = [], facts: Partial<IpFacts> = {}): Outcome<'ip'> {
  const plain: IpFacts = {
    ip: '192.0.2.1',
    valid: true,
    country: null,
    countryCode: 'GB',
    region: null,
    city: null,
    latitude: null,
    longitude: null,
    timezone: null,
    isp: null,
    asn: null,
    isVpn: signals.some(({ code }) => code === 'vpn'),
    isProxy: signals.some(({ code }) => code === 'public_proxy'),
    isTor: signals.some(({ code }) => code === 'tor'),
    isDatacenter: signals.some(({ code }) => code === 'datacenter'),
    isRelay: false,
    signals,
  }
  return { ...around, status: 'answered', reason: 'located', facts: { ...plain, ...facts } }
}

/** A harmless outcome of a domain check, with the given changes. */
export function domain(
  signals: readonly Signal[] = [],
  facts: Partial<DomainFacts> = {},
): Outcome<'domain'> {
  const plain: DomainFacts = {
    domain: 'firm.example',
    valid: true,
    registered: true,
    registrar: null,
    createdDate: null,
    expiryDate: null,
    ageDays: 4000,
    dnsHealthy: true,
    mxFound: true,
    spfFound: true,
    dmarcFound: true,
    disposable: false,
    parked: false,
    signals,
  }
  return { ...around, status: 'answered', reason: 'registered', facts: { ...plain, ...facts } }
}
