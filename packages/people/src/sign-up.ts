import { Problem } from '@plumbline/contract/problem'
import { createAccount } from '@plumbline/db/accounts'
import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Tx } from '@plumbline/db/database'
import { findInvitation } from '@plumbline/db/people/invitations'
import {
  deleteLinkCodesOfAddress,
  newestLinkCode,
  type LinkCode,
} from '@plumbline/db/people/link-codes'
import { newId } from '@plumbline/db/ids'
import { hasOpenAccount, noteFreeMailbox } from '@plumbline/db/people/free-mailboxes'
import { addMember, isAccountless, removeAccountless } from '@plumbline/db/people/members'
import { findUser, insertUser, type User } from '@plumbline/db/people/users'
import { tooManyTries } from './attempts.ts'
import { refuseCommonPassword } from './common-passwords.ts'
import { emailKeyOf, mailDomainOf } from './email-key.ts'
import { insertLinkSecret, linkTo, staleLink } from './link.ts'
import { join, useUpInvitation } from './membership.ts'
import { queueMessage, type People, type TakenOfDay, type Visitor } from './people.ts'
import { insertResetLink } from './reset.ts'
import { digestOfSecret } from './secret.ts'
import { beginSession, type BegunSession } from './session.ts'

/** Input of the form. */
export interface SignUpForm {
  readonly name: string
  readonly email: string
  readonly password: string
  /** The secret of an invitation. */
  readonly invitation?: string | undefined
}

/** A sign-up whose address is not verified yet. */
interface Pending {
  readonly name: string
  readonly email: string
  readonly passwordDigest: string
}

/** Minutes for which an address can be verified. Source: ASVS 5.0, 6.4.1 requires a limit. */
const VERIFY_MINUTES = 24 * 60

/** Prefix of the budgets that count sign-ups of a day. */
export const SIGN_UP_BUDGETS = 'sign-up:'

/**
 * Daily sign-ups of an IPv6 /48, as a multiple of a network's limit: a hosting provider has several
 * customers there.
 */
const NETWORKS_OF_SITE = 4

/**
 * Unverified sign-ups per day of a mail domain, as a multiple of its daily limit of accounts.
 * Anyone can enter addresses of a company: that uses up messages to it, but not the accounts that
 * its people may create.
 */
const WAITING_PER_ACCOUNT = 10

/** Associated data under which a sign-up is encrypted until verification. */
export const SIGN_UP_SEALED_AS = 'sign-up'

/**
 * Signs a user up. With mail, only a message is sent until its link is opened, and the response is
 * the same whether the address is known or not; without mail, which is allowed on loopback only,
 * the account is created at once.
 *
 * @returns the new session; undefined if a message was sent
 * @throws Problem if the installation, the limits or the password rules refuse it
 */
export async function signUp(
  people: People,
  visitor: Visitor,
  form: SignUpForm,
): Promise<BegunSession | undefined> {
  if (form.invitation !== undefined)
    return await signUpInvited(people, visitor, form, form.invitation)
  refuseMode(people)
  await refuseCommonPassword(form.password, [form.name, form.email])
  await refuseDomain(people, form.email)
  await limitSignUps(people, visitor, form.email)
  const pending: Pending = {
    name: form.name,
    email: form.email,
    passwordDigest: await people.passwords.hash(form.password),
  }
  if (!people.settings.hasMail) {
    return await inTransaction(people.db, async (tx) => {
      const user = await openAccount(people, tx, pending, false)
      return await beginSession(tx, user.id, visitor)
    })
  }
  await inTransaction(people.db, (tx) => askToVerify(people, tx, visitor, pending))
  people.wakeMail()
  return undefined
}

/**
 * Whether a password is the one chosen at the sign-up of a link; false if none is given. The link
 * proves the address only: anybody can sign up with it, and whoever opens the link must not open an
 * account to which a stranger has the password.
 *
 * @throws Problem `unprocessable` if it is wrong, `too_many_requests` after many attempts
 */
export async function isForPassword(
  people: People,
  code: LinkCode,
  password: string | undefined,
): Promise<boolean> {
  const pending = pendingOf(people, code)
  if (pending === undefined) throw staleLink()
  if (password === undefined) return false
  if (!(await people.tries.user(`verify ${emailKeyOf(pending.email)}`))) throw tooManyTries()
  if (await people.passwords.matches(password, pending.passwordDigest)) return true
  throw new Problem(
    'unprocessable',
    'This is not the password of the sign-up to which the link belongs. Enter that one, open the link ' +
      'of another message if you signed up more than once, or sign up again.',
  )
}

/** Creates the user and account of a sign-up whose address and password are proven. */
export async function finishSignUp(
  people: People,
  tx: Tx,
  visitor: Visitor,
  code: LinkCode,
): Promise<BegunSession> {
  const pending = pendingOf(people, code)
  if (pending === undefined) throw staleLink()
  const user = await openAccount(people, tx, pending, true)
  await deleteLinkCodesOfAddress(tx, emailKeyOf(pending.email), 'sign_up')
  return await beginSession(tx, user.id, visitor)
}

/**
 * Takes one of the accounts that a mail domain may have today, for the link of a sign-up that is
 * about to be opened: only who reads mail of the domain uses them up. Nothing is taken for links of
 * other kinds.
 *
 * @throws Problem `too_many_requests` if none is left; the link stays good
 */
export async function takeForLink(
  people: People,
  code: LinkCode | undefined,
): Promise<TakenOfDay | undefined> {
  const pending = code?.purpose === 'sign_up' ? pendingOf(people, code) : undefined
  if (pending === undefined) return undefined
  return await takeOfDomain(people, 'domain', pending.email, people.settings.signUpsPerDomain)
}

/**
 * The sign-up that waits for its link to be opened; undefined if it was encrypted under another
 * key.
 */
function pendingOf(people: People, code: LinkCode | undefined): Pending | undefined {
  const opened = people.sealer.decrypt(code?.detail ?? '', SIGN_UP_SEALED_AS)
  if (opened === undefined) return undefined
  // Safe because only `askToVerify` encrypts under this name.
  return JSON.parse(opened) as Pending
}

/** Sends the link of an unverified sign-up again; does nothing if there is none for this address. */
export async function resendSignUp(people: People, visitor: Visitor, email: string): Promise<void> {
  const emailKey = emailKeyOf(email)
  const waiting = await newestLinkCode(people.db, emailKey, 'sign_up')
  const pending = pendingOf(people, waiting)
  if (pending === undefined) return
  await inTransaction(people.db, (tx) => askToVerify(people, tx, visitor, pending))
}

async function askToVerify(
  people: People,
  tx: Tx,
  visitor: Visitor,
  pending: Pending,
): Promise<void> {
  const emailKey = emailKeyOf(pending.email)
  const known = await findUser(tx, emailKey)
  if (known !== undefined && !(await mayReplace(people, tx, known))) {
    // As much work as for a new address; the existing user is notified, and the caller learns
    // nothing.
    const link = await insertResetLink(people, tx, visitor, known)
    await queueMessage(people, tx, {
      kind: 'already_signed_up',
      to: known.email,
      name: known.name,
      link,
    })
    return
  }
  const secret = await insertLinkSecret(tx, {
    purpose: 'sign_up',
    emailKey,
    detail: people.sealer.encrypt(JSON.stringify(pending), SIGN_UP_SEALED_AS),
    minutes: VERIFY_MINUTES,
  })
  const link = linkTo(people, visitor, 'verify', secret)
  await queueMessage(people, tx, { kind: 'verify', to: pending.email, name: pending.name, link })
}

/**
 * Signs up a user with an invitation, who belongs to its account only and whose address is proven
 * by it.
 */
async function signUpInvited(
  people: People,
  visitor: Visitor,
  form: SignUpForm,
  secret: string,
): Promise<BegunSession> {
  const digest = digestOfSecret(secret)
  const invitation = await findInvitation(people.db, digest)
  if (invitation === undefined) throw staleLink()
  if (invitation.emailKey !== emailKeyOf(form.email)) {
    throw new Problem('unprocessable', 'The invitation is for another address; use that one.')
  }
  await refuseCommonPassword(form.password, [form.name, form.email])
  const passwordDigest = await people.passwords.hash(form.password)
  return await inTransaction(people.db, async (tx) => {
    const { accountId, role, emailKey } = invitation
    await useUpInvitation(tx, accountId, digest)
    const verified = people.settings.hasMail
    const user = await insertUser(tx, { ...form, emailKey, passwordDigest, verified })
    if (user === undefined) throw alreadyThere()
    await join(tx, { accountId, userId: user.id }, role)
    return await beginSession(tx, user.id, visitor, { accountId })
  })
}

/**
 * Creates a user with an account of the Free plan; its credits are granted at once unless the
 * address had some lately.
 */
async function openAccount(
  people: People,
  tx: Tx,
  pending: Pending,
  verified: boolean,
): Promise<User> {
  const { name, email } = pending
  const emailKey = emailKeyOf(email)
  const known = await findUser(tx, emailKey)
  if (known !== undefined && (await mayReplace(people, tx, known))) {
    await removeAccountless(tx, known.id)
  }
  const user = await insertUser(tx, { ...pending, emailKey, verified })
  if (user === undefined) throw alreadyThere()
  const id = newId('acc')
  const { hasCredits } = await noteFreeMailbox(tx, freeMailboxOf(people, emailKey), id)
  await createAccount(tx, { id, email, plan: 'free', name, opensEmpty: !hasCredits })
  await addMember(tx, { accountId: id, userId: user.id, role: 'owner' })
  await writeAudit(tx, {
    actor: user.id,
    action: 'account.create',
    accountId: id,
    before: null,
    after: { plan: 'free', time_zone: 'UTC' },
  })
  return user
}

/**
 * Whether a user is replaced by a sign-up: one who belonged to accounts of others, and has left them
 * all. Who has handed over an account stays without one, since a mailbox makes one account.
 */
async function mayReplace(people: People, tx: Tx, { id, emailKey }: User): Promise<boolean> {
  if (!(await isAccountless(tx, id))) return false
  return !(await hasOpenAccount(tx, freeMailboxOf(people, emailKey)))
}

function freeMailboxOf({ sealer }: People, emailKey: string): string {
  return sealer.digest(`free credits ${emailKey}`)
}

function alreadyThere(): Problem {
  return new Problem('conflict', 'There is a user with this address already; sign in instead.')
}

function refuseMode({ settings }: People): void {
  if (settings.signUp === 'open') return
  throw new Problem(
    'forbidden',
    settings.signUp === 'invite'
      ? 'Signing up here takes an invitation; ask somebody who has an account.'
      : 'Nobody can sign up here; ask the operator for an account.',
  )
}

async function refuseDomain(people: People, email: string): Promise<void> {
  const { isDisposable } = await people.mailDomains.judge(mailDomainOf(email))
  if (!isDisposable) return
  throw new Problem(
    'unprocessable',
    'Addresses of this mail service do not last; sign up with one that you keep.',
  )
}

async function limitSignUps(people: People, visitor: Visitor, email: string): Promise<void> {
  const { signUpsPerNetwork: ofNetwork, signUpsPerDomain: ofDomain, hasMail } = people.settings
  const { network, site } = visitor
  if (!(await take(people, 'network', network, ofNetwork))) throw tooMany('from this network')
  if (site !== network && !(await take(people, 'site', site, ofNetwork * NETWORKS_OF_SITE))) {
    throw tooMany('from this network')
  }
  if (hasMail) await takeOfDomain(people, 'waiting', email, ofDomain * WAITING_PER_ACCOUNT)
  else await takeOfDomain(people, 'domain', email, ofDomain)
}

/**
 * Takes one unit of a mail domain's daily limit; free providers have too many users to be limited.
 */
async function takeOfDomain(
  people: People,
  kind: 'domain' | 'waiting',
  email: string,
  most: number,
): Promise<TakenOfDay | undefined> {
  const { isFree, registrable } = await people.mailDomains.judge(mailDomainOf(email))
  if (isFree) return undefined
  // The owner of a domain can create any number of names below it.
  const taken = await take(people, kind, registrable, most)
  if (taken === undefined) throw tooMany('with addresses of this domain')
  return taken
}

async function take(
  { takeOfDay, sealer }: People,
  kind: string,
  value: string,
  most: number,
): Promise<TakenOfDay | undefined> {
  return await takeOfDay(`${SIGN_UP_BUDGETS}${kind}:${sealer.digest(`sign-up ${value}`)}`, most)
}

function tooMany(whence: string): Problem {
  return new Problem(
    'too_many_requests',
    `No more accounts can be made ${whence} today; try again tomorrow, or ask for an invitation.`,
    { retryAfterSeconds: 3_600 },
  )
}
