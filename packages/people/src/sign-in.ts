import { Problem } from '@plumbline/contract/problem'
import { inTransaction, type Tx } from '@plumbline/db/database'
import { hasUsedNetwork, listSessions } from '@plumbline/db/people/sessions'
import { findUser, lockUser, type User } from '@plumbline/db/people/users'
import { tooManyTries } from './attempts.ts'
import { emailKeyOf } from './email-key.ts'
import { isFactor, wrongCode } from './factor-check.ts'
import { linkTo } from './link.ts'
import { queueMessage, type People, type Visitor } from './people.ts'
import { beginSession, type BegunSession } from './session.ts'

/** Result of an attempt to sign in. */
export type SignInOutcome =
  | { readonly outcome: 'signed_in'; readonly session: BegunSession }
  | { readonly outcome: 'code_needed' }

/**
 * Signs a user in. An unknown address takes the same time and gives the same message as a wrong
 * password.
 *
 * @throws Problem `unauthorized`, or `too_many_requests` after too many attempts
 */
export async function signIn(
  people: People,
  visitor: Visitor,
  form: { readonly email: string; readonly password: string; readonly code?: string | undefined },
): Promise<SignInOutcome> {
  const emailKey = emailKeyOf(form.email)
  await refuseManyTries(people, visitor, emailKey)
  const user = await findUser(people.db, emailKey)
  const isRight = await people.passwords.matches(form.password, user?.passwordDigest)
  if (user === undefined || !isRight) throw wrong()
  if (user.factor !== null) {
    if (form.code === undefined) return { outcome: 'code_needed' }
    if (!(await isFactor(people, visitor, user, form.code))) throw wrongCode()
  }
  const session = await inTransaction(people.db, async (tx) => {
    if (!(await lockAsChecked(tx, user))) throw wrong()
    const isNew = !(await hasUsedNetwork(tx, user.id, visitor.network))
    if (isNew && (await listSessions(tx, user.id)).length > 0) {
      await queueMessage(people, tx, {
        kind: 'new_sign_in',
        to: user.email,
        name: user.name,
        network: visitor.network,
        browser: visitor.browser,
        at: `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
        link: linkTo(people, visitor, 'settings'),
      })
    }
    return await beginSession(tx, user.id, visitor, { proven: user.factor !== null })
  })
  people.wakeMail()
  return { outcome: 'signed_in', session }
}

/**
 * Checks the password of a signed-in user.
 *
 * @throws Problem `unprocessable` if it is wrong, `too_many_requests` after many attempts
 */
export async function requirePassword(people: People, user: User, password: string): Promise<void> {
  if (!(await people.tries.user(`password ${user.id}`))) throw tooManyTries()
  if (await people.passwords.matches(password, user.passwordDigest)) return
  throw wrongPassword()
}

/**
 * Locks a user, as it was read before its password was checked, for the rest of the transaction.
 *
 * @returns false if password or second factor have changed since: the change has ended all sessions
 * and links, and what was checked before must not make others
 */
export async function lockAsChecked(tx: Tx, checked: User): Promise<boolean> {
  const { passwordDigest, factor } = await lockUser(tx, checked.id)
  return passwordDigest === checked.passwordDigest && factor === checked.factor
}

/** The refusal of a wrong password of a signed-in user. */
export function wrongPassword(): Problem {
  return new Problem('unprocessable', 'The password is not right; enter it again.')
}

async function refuseManyTries(people: People, visitor: Visitor, emailKey: string): Promise<void> {
  const { pair, user, network } = people.tries
  const isAllowed =
    (await network(visitor.network)) &&
    (await pair(`${emailKey} ${visitor.network}`)) &&
    ((await user(emailKey)) || (await isSeenNetwork(people, visitor, emailKey)))
  if (!isAllowed) throw tooManyTries()
}

/**
 * Whether a user has had a session from this network: attempts from other networks cannot lock the
 * user out there.
 */
async function isSeenNetwork(
  { db }: People,
  { network }: Visitor,
  emailKey: string,
): Promise<boolean> {
  const user = await findUser(db, emailKey)
  return user !== undefined && (await hasUsedNetwork(db, user.id, network))
}

function wrong(): Problem {
  return new Problem(
    'unauthorized',
    'Email or password is not right; try again or set a new password.',
  )
}
