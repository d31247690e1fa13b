import { postfix } from '../smtp/profile.ts'
import type { Profile } from '../smtp/profile.ts'

/** A mail provider: the MX hosts of its domains, and their replies. */
export interface Provider {
  readonly name: string
  /** MX hosts in order of preference; `%d` is the domain with dashes in place of dots. */
  readonly hosts: readonly string[]
  readonly profile: (host: string) => Profile
  /** Its consumer domains, with the year of their registration. */
  readonly consumer: readonly (readonly [domain: string, year: number])[]
  /** Number of the world's companies with this provider. */
  readonly tenants: number
}

/**
 * Providers with their documented or observed replies. Sources:
 * support.google.com/a/answer/3726730; learn.microsoft.com "NDR error codes in Exchange Online";
 * sendersupport.olc.protection.outlook.com; senders.yahooinc.com/smtp-error-codes; Mimecast "SMTP
 * error codes"; Barracuda and Proofpoint texts as public bounce collections show them (2026-11).
 */
export const PROVIDERS: readonly Provider[] = [
  {
    name: 'google',
    hosts: [
      'gmail-smtp-in.l.google.com',
      'alt1.gmail-smtp-in.l.google.com',
      'alt2.gmail-smtp-in.l.google.com',
    ],
    profile: google,
    consumer: [
      ['gmail.com', 1995],
      ['googlemail.com', 1999],
    ],
    tenants: 0,
  },
  {
    name: 'google-workspace',
    hosts: ['aspmx.l.google.com', 'alt1.aspmx.l.google.com', 'alt2.aspmx.l.google.com'],
    profile: google,
    consumer: [],
    tenants: 14,
  },
  {
    name: 'outlook',
    hosts: ['%d.olc.protection.outlook.com'],
    profile: outlookConsumer,
    consumer: [
      ['outlook.com', 1994],
      ['hotmail.com', 1996],
      ['live.com', 1994],
    ],
    tenants: 0,
  },
  {
    name: 'microsoft365',
    hosts: ['%d.mail.protection.outlook.com'],
    profile: microsoft365,
    consumer: [],
    tenants: 14,
  },
  {
    name: 'yahoo',
    hosts: ['mta5.am0.yahoodns.net', 'mta6.am0.yahoodns.net', 'mta7.am0.yahoodns.net'],
    profile: yahoo,
    consumer: [
      ['yahoo.com', 1995],
      ['aol.com', 1995],
      ['ymail.com', 1997],
    ],
    tenants: 0,
  },
  {
    name: 'icloud',
    hosts: ['mx01.mail.icloud.com', 'mx02.mail.icloud.com'],
    profile: icloud,
    consumer: [
      ['icloud.com', 1999],
      ['me.com', 1992],
    ],
    tenants: 0,
  },
  {
    name: 'gmx',
    hosts: ['mx00.gmx.net', 'mx01.gmx.net'],
    profile: gmx,
    consumer: [
      ['gmx.net', 1997],
      ['gmx.com', 1996],
    ],
    tenants: 0,
  },
  {
    name: 'mimecast',
    hosts: ['eu-smtp-inbound-1.mimecast.com', 'eu-smtp-inbound-2.mimecast.com'],
    profile: mimecast,
    consumer: [],
    tenants: 5,
  },
  {
    name: 'proofpoint',
    hosts: ['mx0a-0012ab01.pphosted.com', 'mx0b-0012ab01.pphosted.com'],
    profile: proofpoint,
    consumer: [],
    tenants: 5,
  },
  {
    name: 'barracuda',
    hosts: ['d101a.ess.barracudanetworks.com', 'd101b.ess.barracudanetworks.com'],
    profile: barracuda,
    consumer: [],
    tenants: 5,
  },
  {
    name: 'trendmicro',
    hosts: ['in.hes.trendmicro.com'],
    profile: trendMicro,
    consumer: [],
    tenants: 3,
  },
]

function google(host: string): Profile {
  const id = '5b1f17b1804b1-4775a2e5d7asi512345e9.12'
  return {
    name: 'google',
    banner: `220 mx.google.com ESMTP ${id} - gsmtp`,
    greeting: `mx.google.com at your service, [127.0.0.1]`,
    capabilities: [
      'SIZE 157286400',
      '8BITMIME',
      'STARTTLS',
      'ENHANCEDSTATUSCODES',
      'PIPELINING',
      'CHUNKING',
      'SMTPUTF8',
    ],
    ignoreDots: host.includes('gmail'),
    replies: {
      mail: `250 2.1.0 OK ${id} - gsmtp`,
      accepted: `250 2.1.5 OK ${id} - gsmtp`,
      missing: [
        '550-5.1.1 The email account that you tried to reach does not exist. Please try',
        "550-5.1.1 double-checking the recipient's email address for typos or",
        '550-5.1.1 unnecessary spaces. For more information, go to',
        `550 5.1.1  https://support.google.com/mail/?p=NoSuchUser ${id} - gsmtp`,
      ].join('\n'),
      full: [
        "452-4.2.2 The recipient's inbox is out of storage space. Please direct the",
        '452-4.2.2 recipient to',
        `452 4.2.2  https://support.google.com/mail/?p=OverQuotaTemp ${id} - gsmtp`,
      ].join('\n'),
      disabled: [
        '550-5.2.1 The email account that you tried to reach is inactive. For more',
        '550-5.2.1 information, go to',
        `550 5.2.1  https://support.google.com/mail/?p=DisabledUser ${id} - gsmtp`,
      ].join('\n'),
      busy: [
        '450-4.2.1 The user you are trying to contact is receiving mail at a rate that',
        '450-4.2.1 prevents additional messages from being delivered. Please resend your',
        '450-4.2.1 message at a later time. If the user is able to receive mail at that',
        `450 4.2.1 time, your message will be delivered. https://support.google.com/mail/?p=ReceivingRate ${id} - gsmtp`,
      ].join('\n'),
      relay: `550 5.7.1 Relaying denied ${id} - gsmtp`,
      greylist: `421 4.7.0 Try again later ${id} - gsmtp`,
      reset: `250 2.1.5 Flushed ${id} - gsmtp`,
      bye: `221 2.0.0 closing connection ${id} - gsmtp`,
    },
  }
}

function outlookConsumer(host: string): Profile {
  return {
    ...microsoft365(host),
    name: 'outlook',
    oneRecipient: true,
    replies: {
      ...microsoft365(host).replies,
      missing:
        '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [Name=Protocol Filter Agent]',
      full: '552 5.2.2 Requested mail action aborted: exceeded storage allocation [Name=Protocol Filter Agent]',
      busy: "554 5.2.121 Recipient's per hour message receive limit from specific sender exceeded",
    },
  }
}

function microsoft365(host: string): Profile {
  return {
    name: 'microsoft365',
    banner: `220 DB5PEPF00014B9A.mail.protection.outlook.com Microsoft ESMTP MAIL Service ready`,
    greeting: `${host} Hello [127.0.0.1]`,
    capabilities: [
      'SIZE 157286400',
      'PIPELINING',
      'DSN',
      'ENHANCEDSTATUSCODES',
      'STARTTLS',
      '8BITMIME',
      'BINARYMIME',
      'CHUNKING',
      'SMTPUTF8',
    ],
    replies: {
      mail: '250 2.1.0 Sender OK',
      accepted: '250 2.1.5 Recipient OK',
      missing: `550 5.4.1 Recipient address rejected: Access denied. For more information see https://aka.ms/EXOSmtpErrors [DB5PEPF00014B9A.eurprd02.prod.outlook.com] AS(201806281)`,
      full: '552 5.2.2 Mailbox full; STOREDRV.Deliver; mailbox full exception',
      disabled: '550 5.2.1 Mailbox cannot be accessed',
      busy: '450 4.2.1 Recipient is receiving mail at a rate that prevents additional messages from being delivered',
      relay: '550 5.7.64 TenantAttribution; Relay Access Denied',
      greylist: '451 4.7.500 Server busy. Please try again later from [127.0.0.1]. (S77719)',
      reset: '250 2.0.0 Resetting',
      bye: '221 2.0.0 Service closing transmission channel',
    },
  }
}

function yahoo(): Profile {
  return {
    name: 'yahoo',
    banner: '220 mtaproxy513.free.mail.ne1.yahoo.com ESMTP ready',
    greeting: 'mtaproxy513.free.mail.ne1.yahoo.com',
    capabilities: ['PIPELINING', 'SIZE 41943040', '8BITMIME', 'STARTTLS'],
    acceptsAll: true,
    replies: {
      mail: '250 sender <> ok',
      accepted: '250 recipient <%s> ok',
      missing: "554 delivery error: dd This user doesn't have a yahoo.com account (%s) [0]",
      full: '552 1 Requested mail action aborted, mailbox full',
      disabled:
        '554 30 Sorry, your message cannot be delivered. This mailbox is disabled (554.30).',
      busy: '450 User is receiving mail too quickly',
      relay: '550 relaying denied for <%s>',
      greylist: '451 Resources temporarily unavailable. Please try again later.',
      reset: '250 reset ok',
      bye: '221 mtaproxy513.free.mail.ne1.yahoo.com',
    },
  }
}

function icloud(host: string): Profile {
  return postfix(host, {
    name: 'icloud',
    banner: `220 ${host} ESMTP`,
    capabilities: [
      'PIPELINING',
      'SIZE 28311552',
      'ETRN',
      'STARTTLS',
      'ENHANCEDSTATUSCODES',
      '8BITMIME',
      'DSN',
      'SMTPUTF8',
    ],
    replies: {
      ...postfix(host).replies,
      missing: '550 5.1.1 <%s>: user does not exist',
      full: '552 5.2.2 <%s>: user is over quota',
    },
  })
}

function gmx(host: string): Profile {
  return postfix(host, {
    name: 'gmx',
    banner: '220 gmx.net (mxgmx008) Nemesis ESMTP Service ready',
    greeting: 'gmx.net Hello verifier [127.0.0.1]',
    capabilities: ['8BITMIME', 'SIZE 157286400', 'STARTTLS'],
    replies: {
      mail: '250 Requested mail action okay, completed',
      accepted: '250 OK',
      missing: '550 Requested action not taken: mailbox unavailable',
      full: '552-Requested mail action aborted: exceeded storage allocation\n552-Quota exceeded.\n552 For explanation visit https://postmaster.gmx.net/en/error-messages?c=quota',
      disabled: '550 Requested action not taken: mailbox unavailable - mailbox is disabled',
      busy: '450 Requested mail action not taken: user is receiving mail too quickly',
      relay: '550 Requested action not taken: relaying denied',
      greylist: '451 Requested action aborted: local error in processing',
      reset: '250 Requested mail action okay, completed',
      bye: '221 gmx.net Service closing transmission channel',
    },
  })
}

function mimecast(host: string): Profile {
  return postfix(host, {
    name: 'mimecast',
    banner: `220 ${host} ESMTP ; mimecast`,
    capabilities: ['STARTTLS', '8BITMIME', 'PIPELINING'],
    greylistSeconds: 1,
    replies: {
      ...postfix(host).replies,
      mail: '250 Sender OK [vCsK1Y8ENwSyXzEbKgVQ0A.uk114]',
      accepted: '250 Recipient OK [vCsK1Y8ENwSyXzEbKgVQ0A.uk114]',
      missing:
        '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [vCsK1Y8ENwSyXzEbKgVQ0A.uk114]',
      full: '452 4.2.2 The recipient mailbox is full [vCsK1Y8ENwSyXzEbKgVQ0A.uk114]',
      disabled: '550 Account inbounds disabled - https://community.mimecast.com/docs/DOC-1369#550',
      greylist:
        '451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451 [vCsK1Y8ENwSyXzEbKgVQ0A.uk114]',
      relay: '550 Administrative prohibition - https://community.mimecast.com/docs/DOC-1369#550',
    },
  })
}

function proofpoint(host: string): Profile {
  return postfix(host, {
    name: 'proofpoint',
    banner: `220 ${host.replace('mx0', 'm0')} ESMTP mfa-m0223512`,
    capabilities: ['PIPELINING', '8BITMIME', 'SIZE 52428800', 'STARTTLS', 'HELP'],
    replies: {
      ...postfix(host).replies,
      missing: '550 5.1.1 User Unknown',
      full: '552 5.2.2 <%s> mailbox quota exceeded',
      disabled: '550 5.2.1 <%s> mailbox disabled, not accepting messages',
      relay: '550 5.7.1 Relaying denied',
    },
  })
}

function barracuda(host: string): Profile {
  return postfix(host, {
    name: 'barracuda',
    banner: `220 ${host} ESMTP (8f3a2b1c5d6e7f8091a2b3c4d5e6f708)`,
    capabilities: ['SIZE 100000000', 'STARTTLS', '8BITMIME', 'PIPELINING', 'HELP'],
    replies: {
      ...postfix(host).replies,
      missing:
        '550 permanent failure for one or more recipients (%s:550 cuda_nsu 5.1.1 <%s>: Recipient address rejected: User unknown)',
      greylist: '451 4.7.1 Greylisted for 5 minutes',
    },
  })
}

function trendMicro(host: string): Profile {
  return postfix(host, {
    name: 'trendmicro',
    banner: '220 in.hes.trendmicro.com Trend Micro Email Security ESMTP',
    replies: {
      ...postfix(host).replies,
      missing: '554 5.7.1 <%s>: Recipient address rejected: Invalid-Recipient.',
    },
  })
}
