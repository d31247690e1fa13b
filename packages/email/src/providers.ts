import { SOURCES } from './sources.ts'

/** A large mail system with limits and behaviour of its own. */
export interface Provider {
  readonly id: string
  /** Suffixes of its mail host names; the longest match wins. */
  readonly hosts: readonly string[]
  /** Recipients that one transaction may name. */
  readonly recipientsPerTransaction: number
  /** Connections at once from one outgoing address, at most. */
  readonly connections: number
  /** Recipients a minute from one outgoing address, at most. */
  readonly recipientsPerMinute: number
  /**
   * What a 250 reply to RCPT proves: the mailbox, or nothing because unknown names are accepted
   * too.
   */
  readonly acceptance: 'mailbox' | 'nothing'
  readonly source: string
}

const ORDINARY = {
  recipientsPerTransaction: 20,
  connections: 2,
  recipientsPerMinute: 60,
  acceptance: 'mailbox',
} as const

/** Limits of a mail host of no known provider. */
export const ORDINARY_PROVIDER: Provider = {
  ...ORDINARY,
  id: 'other',
  hosts: [],
  connections: 4,
  source:
    'Postfix smtpd: 2 to 20 connections at once are ordinary (postconf 5, initial_destination_concurrency)',
}

/** The known providers; each row overrides the ordinary values. */
export const PROVIDERS: readonly Provider[] = [
  {
    ...ORDINARY,
    id: 'google',
    hosts: ['google.com', 'googlemail.com', 'psmtp.com'],
    connections: 10,
    source: SOURCES.google,
  },
  {
    ...ORDINARY,
    id: 'outlook_consumer',
    hosts: ['olc.protection.outlook.com', 'hotmail.com'],
    recipientsPerTransaction: 1,
    connections: 4,
    source: `451 4.5.3 ATTR38 on a second recipient; ${SOURCES.aftership}`,
  },
  {
    ...ORDINARY,
    id: 'microsoft365',
    hosts: ['protection.outlook.com', 'mx.microsoft', 'eo.outlook.com'],
    connections: 10,
    source: SOURCES.microsoft,
  },
  {
    ...ORDINARY,
    id: 'yahoo',
    hosts: ['yahoodns.net', 'mail.yahoo.com', 'aol.com'],
    recipientsPerTransaction: 5,
    acceptance: 'nothing',
    source: `${SOURCES.yahoo}; unknown names refused after DATA only`,
  },
  {
    ...ORDINARY,
    id: 'yahoo_japan',
    hosts: ['yahoo.co.jp'],
    source: 'support.yahoo-net.jp (mail), read 2026',
  },
  {
    ...ORDINARY,
    id: 'apple',
    hosts: ['mail.icloud.com', 'mail.me.com', 'apple.com'],
    source: SOURCES.apple,
  },
  {
    ...ORDINARY,
    id: 'mimecast',
    hosts: ['mimecast.com', 'mimecast.co.za', 'mimecast-offshore.com'],
    source: SOURCES.mimecast,
  },
  {
    ...ORDINARY,
    id: 'proofpoint',
    hosts: ['pphosted.com', 'ppe-hosted.com', 'gpphosted.com'],
    source: SOURCES.proofpoint,
  },
  {
    ...ORDINARY,
    id: 'barracuda',
    hosts: ['barracudanetworks.com', 'cudamail.com'],
    source: 'campus.barracuda.com (Email Gateway Defense, bounce codes), read 2026',
  },
  {
    ...ORDINARY,
    id: 'trend_micro',
    hosts: ['trendmicro.com', 'trendmicro.eu', 'trendmicro.co.jp'],
    source: SOURCES.trendMicro,
  },
  {
    ...ORDINARY,
    id: 'symantec',
    hosts: ['messagelabs.com'],
    source: 'knowledge.broadcom.com (Email Security.cloud, 5xx), read 2026',
  },
  {
    ...ORDINARY,
    id: 'cisco',
    hosts: ['iphmx.com'],
    source: 'cisco.com (Secure Email, SBRS), read 2026',
  },
  {
    ...ORDINARY,
    id: 'comcast',
    hosts: ['comcast.net'],
    source: SOURCES.comcast,
  },
  {
    ...ORDINARY,
    id: 'gmx',
    hosts: ['gmx.net', 'web.de', 'mail.com', 'kundenserver.de', 'ionos.com', '1and1.com'],
    source: 'postmaster.gmx.net (error messages), read 2026',
  },
  {
    ...ORDINARY,
    id: 'laposte',
    hosts: ['laposte.net'],
    source: SOURCES.sisimai,
  },
  {
    ...ORDINARY,
    id: 'orange',
    hosts: ['orange.fr', 'wanadoo.fr'],
    source: SOURCES.orange,
  },
  {
    ...ORDINARY,
    id: 'godaddy',
    hosts: ['secureserver.net'],
    source: SOURCES.godaddy,
  },
  {
    ...ORDINARY,
    id: 'zoho',
    hosts: ['zoho.com', 'zoho.eu', 'zoho.in'],
    source: SOURCES.zoho,
  },
  {
    ...ORDINARY,
    id: 'tencent',
    hosts: ['qq.com'],
    recipientsPerTransaction: 1,
    source: SOURCES.tencent,
  },
  {
    ...ORDINARY,
    id: 'facebook',
    hosts: ['facebook.com'],
    source: SOURCES.facebook,
  },
  {
    ...ORDINARY,
    id: 'yandex',
    hosts: ['yandex.ru', 'yandex.net'],
    source: 'yandex.com/support/mail (SMTP codes), read 2026',
  },
  {
    ...ORDINARY,
    id: 'mailru',
    hosts: ['mail.ru'],
    source: 'postmaster.mail.ru (return codes), read 2026',
  },
  {
    ...ORDINARY,
    id: 'amazon',
    hosts: ['amazonaws.com', 'amazonses.com'],
    source: 'docs.aws.amazon.com/ses (receiving), read 2026',
  },
]

/**
 * Domains of some providers that refuse unknown names at RCPT, so that no accept-all probe is
 * needed. Source: the providers' rows above; observed 550 5.1.1 and 5.5.0 replies.
 */
export const REFUSE_UNKNOWN_NAMES: ReadonlySet<string> = new Set([
  'gmail.com',
  'googlemail.com',
  'icloud.com',
  'me.com',
  'mac.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'msn.com',
])

/** Other names of the same providers. */
const LABELS: ReadonlyMap<string, string> = new Map([
  ['microsoft', 'microsoft365'],
  ['outlook', 'outlook_consumer'],
  ['yahooinc', 'yahoo'],
  ['aol', 'yahoo'],
  ['icloud', 'apple'],
  ['messagelabs', 'symantec'],
])

/**
 * Labels of names that providers give to machines of their customers. Source: names of machines at
 * AWS, GoDaddy, Comcast, Orange, AOL and Yandex Cloud, 2026.
 */
const CUSTOMER_LABELS: ReadonlySet<string> = new Set([
  'abo',
  'cloud',
  'compute',
  'customer',
  'dyn',
  'dynamic',
  'elb',
  'host',
  'ip',
  'ipt',
  'pool',
  'static',
  'vps',
])

/** An IPv4 address in a name, which the name of a single machine often has. */
const ADDRESS_IN_NAME = /\d{1,3}(?:[.-]\d{1,3}){3}/

/** The provider of a mail host, or of a provider id; the ordinary one if it is unknown. */
export function providerOf(hostOrId: string): Provider {
  const name = hostOrId.toLowerCase().replace(/\.$/, '')
  const id = LABELS.get(name) ?? name
  return PROVIDERS.find((provider) => provider.id === id) ?? providerOfHost(name)
}

/**
 * The provider that runs a mail host; the ordinary one if it is unknown, or if the host is a machine
 * of one of its customers, who decides how it replies.
 */
export function providerOfHost(host: string): Provider {
  const name = host.toLowerCase().replace(/\.$/, '')
  let best = ORDINARY_PROVIDER
  let bestLength = 0
  if (isOfCustomer(name)) return best
  for (const provider of PROVIDERS) {
    for (const suffix of provider.hosts) {
      if (suffix.length > bestLength && (name === suffix || name.endsWith(`.${suffix}`))) {
        best = provider
        bestLength = suffix.length
      }
    }
  }
  return best
}

function isOfCustomer(name: string): boolean {
  // Amazon receives mail at these hosts only; all others are machines of customers.
  if (name.endsWith('.amazonaws.com'))
    return !/^inbound-smtp\.[a-z0-9-]+\.amazonaws\.com$/.test(name)
  return ADDRESS_IN_NAME.test(name) || name.split('.').some((label) => CUSTOMER_LABELS.has(label))
}
