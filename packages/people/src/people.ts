import type { SignUpMode } from '@plumbline/contract/app/session'
import type { Db, Tx } from '@plumbline/db/database'
import type { MailMessage } from '@plumbline/mail/message'
import { queueMail, type Sealer } from '@plumbline/mail/outbox'
import type { PasswordHasher } from './password.ts'

/** Result of looking up the domain of an address in the reference lists. */
export interface MailDomainJudgment {
  readonly isDisposable: boolean
  readonly isFree: boolean
  /**
   * The registered domain, `example.com` for `mail.example.com`: its owner controls all subdomains.
   */
  readonly registrable: string
}

/** Looks up the domains of addresses in the reference lists. */
export interface MailDomains {
  judge(domain: string): Promise<MailDomainJudgment>
}

/**
 * A rate limit of attempts, with a token bucket for each name: takes a token, or returns false if
 * the attempt must be refused.
 */
export type AttemptLimit = (name: string) => Promise<boolean>

/**
 * One unit of a daily limit; `giveBack` returns it if it was not used, without waiting for the
 * clock.
 */
export interface TakenOfDay {
  giveBack(): Promise<void>
}

/** Settings of sign-up and sign-in. */
export interface PeopleSettings {
  readonly signUp: SignUpMode
  readonly hasMail: boolean
  /** Base URL of links, for example `https://app.example.com`, without a trailing slash. */
  readonly publicUrl: string | undefined
  /**
   * Accounts that may be created in a day from one network, and with addresses of one mail domain.
   */
  readonly signUpsPerNetwork: number
  readonly signUpsPerDomain: number
  /** Invitations that one account may send by mail in a day. */
  readonly invitationsPerDay: number
}

/** Dependencies of the functions about users. */
export interface People {
  readonly db: Db
  readonly settings: PeopleSettings
  readonly sealer: Sealer & { digest(text: string): string }
  readonly mailDomains: MailDomains
  readonly passwords: PasswordHasher
  /**
   * Attempts to sign in or to enter a code: of one user from one network, of one user, and of one
   * network.
   */
  readonly tries: {
    readonly pair: AttemptLimit
    readonly user: AttemptLimit
    readonly network: AttemptLimit
  }
  /** Limits of messages to one address, and of messages caused by one network. */
  readonly messages: { readonly address: AttemptLimit; readonly network: AttemptLimit }
  /** Takes one unit of a daily limit; undefined if none is left. */
  readonly takeOfDay: (name: string, mostPerDay: number) => Promise<TakenOfDay | undefined>
  /** Makes the sender check the outbox now. */
  readonly wakeMail: () => void
}

/** The client of a request, with untrusted data. */
export interface Visitor {
  /** An IPv4 address, or an IPv6 /64. */
  readonly network: string
  /** An IPv4 address, or an IPv6 /48, which a provider's customer may have: 65,536 /64 networks. */
  readonly site: string
  /** The `User-Agent` header, at most 200 characters. */
  readonly browser: string
  /** Whether the request came from this machine. */
  readonly isLocal: boolean
  /** The address of the page itself, used if no `publicUrl` is set. */
  readonly origin: string
}

/**
 * Queues a message in the transaction of the event that it reports, if mail can be sent.
 *
 * @param keys `withdrawKey`: it replaces a message with this key that has not been sent, and can be
 * withdrawn by it
 */
export async function queueMessage(
  people: Pick<People, 'settings' | 'sealer'>,
  tx: Db | Tx,
  message: MailMessage,
  keys: { readonly withdrawKey?: string } = {},
): Promise<void> {
  if (people.settings.hasMail) await queueMail(tx, people.sealer, message, keys)
}
