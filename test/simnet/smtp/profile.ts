/** The phases of a session in which a server can refuse the client. */
export type RefusalPhase = 'banner' | 'ehlo' | 'mail' | 'rcpt'

/** The behaviour of a mail server. Lines of a reply are separated by LF; `%s` is the recipient. */
export interface Profile {
  readonly name: string
  readonly banner: string
  readonly greeting: string
  readonly capabilities: readonly string[]
  readonly replies: Replies
  /** Whether dots are ignored: for Google, `a.b` and `ab` are the same mailbox. */
  readonly ignoreDots?: boolean
  /** A second recipient in one transaction gets a temporary refusal (Outlook consumer). */
  readonly oneRecipient?: boolean
  /** Every recipient of a known domain is accepted. */
  readonly acceptsAll?: boolean
  /** Every recipient, existing or not, gets this reply. */
  readonly rejectsAll?: string
  readonly refusal?: { readonly phase: RefusalPhase; readonly reply: string }
  readonly requiresTls?: string
  readonly limits?: Limits
  /** Hosts of one group share their limits; default the host alone. */
  readonly limitGroup?: string
  /** Seconds that a new triplet of client, sender and recipient must wait. */
  readonly greylistSeconds?: number
  /** Replies 502 to EHLO, as very old servers do. */
  readonly heloOnly?: boolean
  readonly bannerDelayMs?: number
  readonly replyDelayMs?: number
  /** STARTTLS is offered, but TLS does not follow. */
  readonly brokenTls?: 'garbage' | 'refused' | 'close' | 'silent' | 'plaintext'
  /** Name of a fault of `faults.ts`, which takes over every connection. */
  readonly fault?: string
}

/** The replies of the server in each case. */
export interface Replies {
  readonly mail: string
  readonly accepted: string
  readonly missing: string
  readonly full: string
  readonly disabled: string
  readonly busy: string
  readonly relay: string
  readonly greylist: string
  readonly reset: string
  readonly bye: string
}

/** Limits of one host over all connections; absent: no limit. */
export interface Limits {
  readonly maxConnections?: number
  readonly rcptPerTransaction?: number
  readonly rcptPerConnection?: number
  /** Recipients in any 60 seconds. */
  readonly rcptPerMinute?: number
  /** Errors after which the server replies 421 and closes (Postfix: hard error limit 20). */
  readonly maxErrors?: number
}

const MODERN = [
  'PIPELINING',
  'SIZE 36700160',
  'STARTTLS',
  'ENHANCEDSTATUSCODES',
  '8BITMIME',
  'SMTPUTF8',
]

/** A server that replies as Postfix does, with its default texts. */
export function postfix(name: string, changes: Partial<Profile> = {}): Profile {
  return {
    name: 'postfix',
    banner: `220 ${name} ESMTP Postfix`,
    greeting: name,
    capabilities: MODERN,
    replies: POSTFIX_REPLIES,
    ...changes,
  }
}

/** Default texts of Postfix 3. */
export const POSTFIX_REPLIES: Replies = {
  mail: '250 2.1.0 Ok',
  accepted: '250 2.1.5 Ok',
  missing: '550 5.1.1 <%s>: Recipient address rejected: User unknown in local recipient table',
  full: '452 4.2.2 <%s>: Recipient address rejected: Mailbox is full',
  disabled: '550 5.2.1 <%s>: Recipient address rejected: This account is disabled',
  busy: '450 4.2.1 <%s>: Recipient address rejected: The user is receiving mail too quickly',
  relay: '554 5.7.1 <%s>: Relay access denied',
  greylist:
    '450 4.2.0 <%s>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/',
  reset: '250 2.0.0 Ok',
  bye: '221 2.0.0 Bye',
}

/** A server that replies as Exim does: without enhanced codes. */
export function exim(name: string, changes: Partial<Profile> = {}): Profile {
  return {
    name: 'exim',
    banner: `220 ${name} ESMTP Exim 4.98`,
    greeting: `${name} Hello there`,
    capabilities: [
      'SIZE 52428800',
      'LIMITS MAILMAX=1000 RCPTMAX=50000',
      '8BITMIME',
      'PIPELINING',
      'STARTTLS',
      'HELP',
    ],
    replies: {
      mail: '250 OK',
      accepted: '250 Accepted',
      missing: '550 Unrouteable address: no such user here',
      full: '452 The mailbox of this recipient is over quota',
      disabled: '550 This mailbox is disabled',
      busy: '450 This mailbox is receiving mail too quickly, try later',
      relay: '550 relay not permitted',
      greylist: '451 Greylisted, please try again in 2 seconds',
      reset: '250 Reset OK',
      bye: `221 ${name} closing connection`,
    },
    ...changes,
  }
}

/** An on-premises Exchange server, with its short texts. */
export function exchange(name: string, changes: Partial<Profile> = {}): Profile {
  return {
    name: 'exchange',
    banner: `220 ${name} Microsoft ESMTP MAIL Service ready`,
    greeting: `${name} Hello`,
    capabilities: [
      'SIZE 37748736',
      'PIPELINING',
      'DSN',
      'ENHANCEDSTATUSCODES',
      'STARTTLS',
      '8BITMIME',
      'BINARYMIME',
      'CHUNKING',
    ],
    replies: {
      mail: '250 2.1.0 Sender OK',
      accepted: '250 2.1.5 Recipient OK',
      missing:
        '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      full: '452 4.2.2 Mailbox full',
      disabled: '550 5.2.1 Mailbox cannot be accessed',
      busy: '450 4.2.1 Recipient is receiving mail too quickly',
      relay: '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain',
      greylist: '451 4.7.1 Greylisting in action, please come back later',
      reset: '250 2.0.0 Resetting',
      bye: '221 2.0.0 Service closing transmission channel',
    },
    ...changes,
  }
}
