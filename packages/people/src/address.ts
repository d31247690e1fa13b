import { Problem } from '@plumbline/contract/problem'
import { inTransaction, type Tx } from '@plumbline/db/database'
import {
  deleteLinkCodes,
  findLinkCode,
  takeLinkCode,
  type LinkCode,
} from '@plumbline/db/people/link-codes'
import { endSessions } from '@plumbline/db/people/sessions'
import { findUser, lockUser, setEmail, setVerified, type User } from '@plumbline/db/people/users'
import { emailKeyOf } from './email-key.ts'
import { insertLinkSecret, linkTo, staleLink, type NewLink } from './link.ts'
import { queueMessage, type People, type Visitor } from './people.ts'
import { digestOfSecret } from './secret.ts'
import type { BegunSession } from './session.ts'
import { lockAsChecked, wrongPassword } from './sign-in.ts'
import { finishSignUp, isForPassword, takeForLink } from './sign-up.ts'

/** Minutes for which a user can confirm a new address. */
const CONFIRM_MINUTES = 24 * 60
/** Associated data of the encryption of a new address that is not confirmed yet. */
export const NEW_ADDRESS_SEALED_AS = 'new address'

interface Wanted {
  readonly email: string
  /** The session that made the request; it stays valid. */
  readonly sessionId: string
}

/**
 * Changes a user's address: at once if no mail is sent, else when the link sent to the new one is
 * opened.
 *
 * @param user as it was when the password was checked
 * @returns whether it has changed
 * @throws Problem `unprocessable` if the password has changed since; `conflict` if no mail is sent
 * and the address is taken
 */
export async function changeEmail(
  people: People,
  visitor: Visitor,
  user: User,
  wanted: Wanted,
): Promise<boolean> {
  if (!people.settings.hasMail) {
    await inTransaction(people.db, async (tx) => {
      if (!(await lockAsChecked(tx, user))) throw wrongPassword()
      await applyNewAddress(people, tx, user.id, wanted, false)
    })
    return true
  }
  await inTransaction(people.db, async (tx) => {
    const emailKey = emailKeyOf(wanted.email)
    const holder = await findUser(tx, emailKey)
    // The caller learns nothing about other users, and the owner of the address need not act.
    if (holder !== undefined && holder.id !== user.id) return
    if (!(await lockAsChecked(tx, user))) throw wrongPassword()
    const detail = people.sealer.encrypt(JSON.stringify(wanted), NEW_ADDRESS_SEALED_AS)
    const address = { email: wanted.email, emailKey, detail }
    await sendConfirmation(people, tx, visitor, user, { purpose: 'change_email', ...address })
  })
  people.wakeMail()
  return false
}

/** Sends a verification link to a user whose address was never verified. */
export async function sendVerificationLink(
  people: People,
  visitor: Visitor,
  user: User,
): Promise<void> {
  const { email, emailKey } = user
  await inTransaction(people.db, (tx) =>
    sendConfirmation(people, tx, visitor, user, { purpose: 'verify_email', email, emailKey }),
  )
}

/** Sends a link that confirms an address of a user; earlier ones of its purpose become invalid. */
async function sendConfirmation(
  people: People,
  tx: Tx,
  visitor: Visitor,
  { id: userId, name }: User,
  { email, ...link }: { readonly email: string } & Omit<NewLink, 'userId' | 'minutes'>,
): Promise<void> {
  await deleteLinkCodes(tx, userId, link.purpose)
  const secret = await insertLinkSecret(tx, { ...link, userId, minutes: CONFIRM_MINUTES })
  const url = linkTo(people, visitor, 'verify', secret)
  await queueMessage(people, tx, { kind: 'confirm_email', to: email, name, link: url })
}

/** Result of opening a link; `password_needed` leaves it unused. */
export type Verification =
  | { readonly outcome: 'verified' | 'email_changed' | 'password_needed' }
  | { readonly outcome: 'signed_in'; readonly session: BegunSession }

/**
 * Completes the action of a link sent by mail, which proves the address. The link of a sign-up
 * needs the password chosen there as well, and begins a session.
 *
 * @throws Problem if the link is invalid, the password is wrong, or the mail domain has reached its
 * daily limit of accounts
 */
export async function verify(
  people: People,
  visitor: Visitor,
  form: { readonly token: string; readonly password?: string | undefined },
): Promise<Verification> {
  const digest = digestOfSecret(form.token)
  const found = await findLinkCode(people.db, digest)
  if (found?.purpose === 'sign_up' && !(await isForPassword(people, found, form.password))) {
    return { outcome: 'password_needed' }
  }
  // Taken outside of the transaction, which must not wait for another connection.
  const taken = await takeForLink(people, found)
  try {
    const done = await inTransaction(people.db, async (tx) => {
      const code = await takeLinkCode(tx, digest)
      if (code === undefined) throw staleLink()
      return await follow(people, tx, visitor, code)
    })
    people.wakeMail()
    return done
  } catch (error) {
    // A link that is opened many times at once creates one account, and uses up one of the limit.
    await taken?.giveBack()
    throw error
  }
}

async function follow(
  people: People,
  tx: Tx,
  visitor: Visitor,
  code: LinkCode,
): Promise<Verification> {
  switch (code.purpose) {
    case 'sign_up':
      return { outcome: 'signed_in', session: await finishSignUp(people, tx, visitor, code) }
    case 'verify_email': {
      if (code.userId === null) throw staleLink()
      const user = await lockUser(tx, code.userId)
      if (user.emailKey !== code.emailKey) throw staleLink()
      await setVerified(tx, user.id)
      return { outcome: 'verified' }
    }
    case 'change_email': {
      const opened = people.sealer.decrypt(code.detail ?? '', NEW_ADDRESS_SEALED_AS)
      if (opened === undefined || code.userId === null) throw staleLink()
      // Safe because only `changeEmail` hides anything under this name.
      await applyNewAddress(people, tx, code.userId, JSON.parse(opened) as Wanted, true)
      return { outcome: 'email_changed' }
    }
    case 'reset':
    case 'welcome':
    case 'way_in':
      throw staleLink()
  }
}

async function applyNewAddress(
  people: People,
  tx: Tx,
  userId: string,
  wanted: Wanted,
  verified: boolean,
): Promise<void> {
  const before = await lockUser(tx, userId)
  const { email } = wanted
  if (!(await setEmail(tx, userId, { email, emailKey: emailKeyOf(email), verified }))) {
    throw new Problem('conflict', 'This address is taken; use another.')
  }
  await endSessions(tx, userId, wanted.sessionId)
  await deleteLinkCodes(tx, userId)
  const { name } = before
  await queueMessage(people, tx, { kind: 'email_changed', to: before.email, name, newEmail: email })
}
