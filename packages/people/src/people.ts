import type { SignUpMode } from '@plumbline/contract/app/session'
import type { Db, Tx } from '@plumbline/db/database'
import type { MailMessage } from '@plumbline/mail/message'
import { queueMail, type Sealer } from '@plumbline/mail/outbox'

/** What the lists say of the host of an address. */
export interface MailDomainJudgment {
  readonly isDisposable: boolean
  readonly isFree: boolean
  /**
   * The name under which somebody registered it, `example.com` for `mail.example.com`: its owner
   * has all below it.
   */
  readonly registrable: string
}

/** What judges the hosts of addresses. */
export interface MailDomains {
  judge(domain: string): Promise<MailDomainJudgment>
}

/** A limit for each name; false if it is used up for now. */
export type Allowance = (name: string) => Promise<boolean>

/**
 * One that was taken of those of a day; `giveBack` is for what came to nothing, and waits for no
 * clock.
 */
export interface TakenOfDay {
  giveBack(): Promise<void>
}

/** How people sign up and in on this installation. */
export interface PeopleSettings {
  readonly signUp: SignUpMode
  readonly hasMail: boolean
  /** Where links lead, for example `https://app.example.com`, without a slash at its end. */
  readonly publicUrl: string | undefined
  /** Accounts that may be made in a day from one network, and with addresses of one mail domain. */
  readonly signUpsPerNetwork: number
  readonly signUpsPerDomain: number
}

/** What the ways of people work with. */
export interface People {
  readonly db: Db
  readonly settings: PeopleSettings
  readonly sealer: Sealer & { digest(text: string): string }
  readonly mailDomains: MailDomains
  /**
   * Tries of one person from one network, of one person, and of one network, to sign in or to show
   * a code.
   */
  readonly tries: {
    readonly pair: Allowance
    readonly person: Allowance
    readonly network: Allowance
  }
  /** Messages that one address can be made to get, and that one network can cause. */
  readonly messages: { readonly address: Allowance; readonly network: Allowance }
  /** Takes one of so many a day; undefined if none is left. */
  readonly takeOfDay: (name: string, mostPerDay: number) => Promise<TakenOfDay | undefined>
  /** Has the outbox looked at now. */
  readonly wakeMail: () => void
}

/** Who stands at the other end: nothing of it is trusted. */
export interface Visitor {
  /** An IPv4 address, or an IPv6 /64. */
  readonly network: string
  /**
   * An IPv4 address, or the IPv6 /48 that a customer of a provider may have: 65,536 of the others.
   */
  readonly site: string
  /** What the browser says of itself, at most 200 characters. */
  readonly browser: string
  /** Whether the request came from this machine. */
  readonly isLocal: boolean
  /** The address of the page itself, where no `publicUrl` is set. */
  readonly origin: string
}

/** Writes a message where mail can be sent, in the transaction of what it tells. */
export async function tell(
  people: Pick<People, 'settings' | 'sealer'>,
  tx: Db | Tx,
  message: MailMessage,
): Promise<void> {
  if (people.settings.hasMail) await queueMail(tx, people.sealer, message)
}
