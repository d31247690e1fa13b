import { inTransaction, type Tx } from '@plumbline/db/database'
import { deleteLinkCodes, findLinkCode, takeLinkCode } from '@plumbline/db/people/link-codes'
import { endSessions } from '@plumbline/db/people/sessions'
import {
  findUser,
  getUser,
  lockUser,
  setPassword,
  setVerified,
  type User,
} from '@plumbline/db/people/users'
import { refuseCommonPassword } from './common-passwords.ts'
import { emailKeyOf } from './email-key.ts'
import { insertLinkSecret, linkTo, staleLink } from './link.ts'
import { queueMessage, type People, type Visitor } from './people.ts'
import { digestOfSecret } from './secret.ts'

/** Minutes for which a reset can be confirmed. Source: ASVS 5.0, 6.4.1 asks for a short time. */
const RESET_MINUTES = 60

/**
 * Sends a link to set a new password, if a user has the address. The response is the same in both
 * cases.
 */
export async function beginReset(people: People, visitor: Visitor, email: string): Promise<void> {
  const user = await findUser(people.db, emailKeyOf(email))
  if (user === undefined) return
  await inTransaction(people.db, async (tx) => {
    const link = await insertResetLink(people, tx, visitor, user)
    await queueMessage(people, tx, { kind: 'reset', to: user.email, name: user.name, link })
  })
}

/** Stores a link to set a new password; older ones become invalid. */
export async function insertResetLink(
  people: People,
  tx: Tx,
  visitor: Visitor,
  user: User,
): Promise<string> {
  await deleteLinkCodes(tx, user.id, 'reset')
  const secret = await insertLinkSecret(tx, {
    purpose: 'reset',
    userId: user.id,
    emailKey: user.emailKey,
    minutes: RESET_MINUTES,
  })
  return linkTo(people, visitor, 'reset', secret)
}

/**
 * Sets the password by a link; all sessions end, and the second factor stays.
 *
 * @throws Problem if the link is invalid, or the password is a common one or the user's own name
 */
export async function confirmReset(
  people: People,
  visitor: Visitor,
  form: { readonly token: string; readonly password: string },
): Promise<void> {
  const digest = digestOfSecret(form.token)
  const found = await findLinkCode(people.db, digest)
  // Before the work of a hash; a refused password leaves the link as it is.
  if (found?.purpose !== 'reset' || found.userId === null) throw staleLink()
  const { id, name, email } = await getUser(people.db, found.userId)
  await refuseCommonPassword(form.password, [name, email])
  const passwordDigest = await people.passwords.hash(form.password)
  await inTransaction(people.db, async (tx) => {
    const code = await takeLinkCode(tx, digest)
    if (code === undefined) throw staleLink()
    const user = await lockUser(tx, id)
    // It may have been asked for while the user moved to another address.
    if (user.emailKey !== code.emailKey) throw staleLink()
    await changePassword(people, tx, visitor, user, passwordDigest)
    // The link was sent by mail, so the address is proven.
    await setVerified(tx, user.id)
  })
  people.wakeMail()
}

/** Sets a new password: other sessions end, open links become invalid, and the user is notified. */
export async function changePassword(
  people: People,
  tx: Tx,
  visitor: Visitor,
  user: User,
  passwordDigest: string,
  exceptSession?: string,
): Promise<void> {
  await setPassword(tx, user.id, passwordDigest)
  await endSessions(tx, user.id, exceptSession)
  await deleteLinkCodes(tx, user.id)
  const link = linkTo(people, visitor, 'reset')
  await queueMessage(people, tx, {
    kind: 'password_changed',
    to: user.email,
    name: user.name,
    link,
  })
}
