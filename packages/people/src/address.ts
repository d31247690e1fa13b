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
import { insertLinkSecret, linkTo, staleLink } from './link.ts'
import { queueMessage, type People, type Visitor } from './people.ts'
import { digestOfSecret } from './secret.ts'
import { finishSignUp, takeForLink } from './sign-up.ts'

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
 * @returns whether it has changed
 * @throws Problem `conflict` if no mail is sent and the address is taken
 */
export async function changeEmail(
  people: People,
  visitor: Visitor,
  user: User,
  wanted: Wanted,
): Promise<boolean> {
  if (!people.settings.hasMail) {
    await inTransaction(people.db, (tx) => applyNewAddress(people, tx, user.id, wanted, false))
    return true
  }
  await inTransaction(people.db, async (tx) => {
    const emailKey = emailKeyOf(wanted.email)
    const holder = await findUser(tx, emailKey)
    // The caller learns nothing about other users, and the owner of the address need not act.
    if (holder !== undefined && holder.id !== user.id) return
    await deleteLinkCodes(tx, user.id, 'change_email')
    const secret = await insertLinkSecret(tx, {
      purpose: 'change_email',
      userId: user.id,
      emailKey,
      detail: people.sealer.encrypt(JSON.stringify(wanted), NEW_ADDRESS_SEALED_AS),
      minutes: CONFIRM_MINUTES,
    })
    const link = linkTo(people, visitor, 'verify', secret)
    await queueMessage(people, tx, {
      kind: 'confirm_email',
      to: wanted.email,
      name: user.name,
      link,
    })
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
  await inTransaction(people.db, async (tx) => {
    await deleteLinkCodes(tx, user.id, 'verify_email')
    const secret = await insertLinkSecret(tx, {
      purpose: 'verify_email',
      userId: user.id,
      emailKey: user.emailKey,
      minutes: CONFIRM_MINUTES,
    })
    const link = linkTo(people, visitor, 'verify', secret)
    await queueMessage(people, tx, { kind: 'confirm_email', to: user.email, name: user.name, link })
  })
}

/**
 * Completes the action of a link sent by mail, which proves the address.
 *
 * @throws Problem if the link is invalid, or its mail domain has reached its daily limit of
 * accounts
 */
export async function verify(people: People, token: string): Promise<'verified' | 'email_changed'> {
  const digest = digestOfSecret(token)
  // Taken outside of the transaction, which must not wait for another connection.
  const taken = await takeForLink(people, await findLinkCode(people.db, digest))
  try {
    const done = await inTransaction(people.db, async (tx) => {
      const code = await takeLinkCode(tx, digest)
      if (code === undefined) throw staleLink()
      return await follow(people, tx, code)
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
  code: LinkCode,
): Promise<'verified' | 'email_changed'> {
  switch (code.purpose) {
    case 'sign_up':
      await finishSignUp(people, tx, code)
      return 'verified'
    case 'verify_email': {
      if (code.userId === null) throw staleLink()
      const user = await lockUser(tx, code.userId)
      if (user.emailKey !== code.emailKey) throw staleLink()
      await setVerified(tx, user.id)
      return 'verified'
    }
    case 'change_email': {
      const opened = people.sealer.decrypt(code.detail ?? '', NEW_ADDRESS_SEALED_AS)
      if (opened === undefined || code.userId === null) throw staleLink()
      // Safe because only `changeEmail` hides anything under this name.
      await applyNewAddress(people, tx, code.userId, JSON.parse(opened) as Wanted, true)
      return 'email_changed'
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
