import { Problem } from '@plumbline/contract/problem'
import { getAccount, setAccountContact } from '@plumbline/db/accounts'
import { inTransaction, type Db, type Tx } from '@plumbline/db/database'
import {
  deleteLinkCodesOfAccount,
  takeLinkCode,
  type LinkCode,
} from '@plumbline/db/people/link-codes'
import { firstUnownedAccount } from '@plumbline/db/people/members'
import { findUser, insertUser, lockUser } from '@plumbline/db/people/users'
import { refuseCommonPassword } from './common-passwords.ts'
import { emailKeyOf } from './email-key.ts'
import { insertLinkSecret, staleLink } from './link.ts'
import { join } from './membership.ts'
import type { People, Visitor } from './people.ts'
import { changePassword } from './reset.ts'
import { digestOfSecret } from './secret.ts'
import { beginSession, type BegunSession } from './session.ts'

/** Minutes for which a printed link is valid. */
const WELCOME_MINUTES = 60

/**
 * Creates the secret of a link by which the first user takes over an account; it works from this
 * machine, and earlier ones become invalid.
 */
export async function newWelcomeCode(db: Db | Tx, accountId: string): Promise<string> {
  await deleteLinkCodesOfAccount(db, accountId)
  return await insertLinkSecret(db, {
    purpose: 'welcome',
    accountId,
    isLocalOnly: true,
    minutes: WELCOME_MINUTES,
  })
}

/**
 * Creates the secret of a link for one address: for an existing user to regain access, or for the
 * first owner of an account without members.
 *
 * @param accountId the account of a new user; the oldest open one without a member if absent
 * @returns the secret and the address; undefined if the address is new and every open account has
 * an owner
 */
export async function newAccessCode(
  db: Db | Tx,
  wanted: { readonly email: string; readonly accountId?: string; readonly isLocalOnly: boolean },
): Promise<
  | { readonly secret: string; readonly userId: string | null; readonly accountId: string | null }
  | undefined
> {
  const emailKey = emailKeyOf(wanted.email)
  const user = await findUser(db, emailKey)
  const accountId =
    user === undefined ? (wanted.accountId ?? (await firstUnownedAccount(db))) : null
  if (accountId === undefined) return undefined
  const secret = await insertLinkSecret(db, {
    purpose: 'way_in',
    userId: user?.id ?? null,
    accountId,
    emailKey,
    isLocalOnly: wanted.isLocalOnly,
    minutes: WELCOME_MINUTES,
  })
  return { secret, userId: user?.id ?? null, accountId }
}

/**
 * Signs a user in by a printed link, with a new password; a new user becomes the owner of the
 * link's account.
 *
 * @throws Problem if the link is invalid, is for another address or for this machine only
 */
export async function welcome(
  people: People,
  visitor: Visitor,
  form: {
    readonly code: string
    readonly email: string
    readonly password: string
    readonly name?: string | undefined
  },
): Promise<BegunSession> {
  await refuseCommonPassword(form.password, [form.email, form.name ?? ''])
  const passwordDigest = await people.passwords.hash(form.password)
  const begun = await inTransaction(people.db, async (tx) => {
    const code = await takeLinkCode(tx, digestOfSecret(form.code))
    if (code === undefined) throw staleLink()
    refuseOthers(code, visitor, form.email)
    if (code.userId === null)
      return await takeAccount(tx, visitor, { ...form, passwordDigest }, code)
    const user = await lockUser(tx, code.userId)
    await refuseCommonPassword(form.password, [user.name])
    await changePassword(people, tx, visitor, user, passwordDigest)
    return await beginSession(tx, user.id, visitor)
  })
  people.wakeMail()
  return begun
}

function refuseOthers(code: LinkCode, visitor: Visitor, email: string): void {
  if (code.purpose !== 'welcome' && code.purpose !== 'way_in') throw staleLink()
  if (code.isLocalOnly && !visitor.isLocal) {
    throw new Problem(
      'forbidden',
      'This link works on the machine of the service alone; open it there by 127.0.0.1 or localhost.',
    )
  }
  if (code.emailKey !== null && code.emailKey !== emailKeyOf(email)) {
    throw new Problem(
      'unprocessable',
      'The link is for another address; use the one it was made for.',
    )
  }
}

async function takeAccount(
  tx: Tx,
  visitor: Visitor,
  form: {
    readonly email: string
    readonly name?: string | undefined
    readonly passwordDigest: string
  },
  { accountId }: LinkCode,
): Promise<BegunSession> {
  const account = accountId === null ? undefined : await getAccount(tx, accountId)
  if (accountId === null || account === undefined || account.status === 'closed') throw staleLink()
  const { email, passwordDigest } = form
  const name = form.name ?? email.slice(0, email.lastIndexOf('@'))
  const user = await insertUser(tx, {
    name,
    email,
    emailKey: emailKeyOf(email),
    passwordDigest,
    verified: false,
  })
  if (user === undefined) {
    throw new Problem(
      'conflict',
      'There is a user with this address already; use another, or sign in.',
    )
  }
  await join(tx, { accountId, userId: user.id }, 'owner')
  await deleteLinkCodesOfAccount(tx, accountId)
  await setAccountContact(tx, accountId, { email, name })
  return await beginSession(tx, user.id, visitor, { accountId })
}
