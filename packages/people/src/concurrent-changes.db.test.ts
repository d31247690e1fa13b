import { revokeAccess, setAccountState } from '@plumbline/db/account-state'
import { createAccount, lockAccount } from '@plumbline/db/accounts'
import { inTransaction, type Db } from '@plumbline/db/database'
import { listInvitations } from '@plumbline/db/people/invitations'
import { deleteLinkCodes } from '@plumbline/db/people/link-codes'
import { addMember, listMembers, membershipsOf, removeMember } from '@plumbline/db/people/members'
import { listSessions } from '@plumbline/db/people/sessions'
import { beginFactor, confirmFactor, findUser, getUser, setEmail } from '@plumbline/db/people/users'
import { openTestDatabase } from '@plumbline/testkit/database'
import { PATIENT } from '@plumbline/testkit/patience'
import { beforeEach, afterEach, expect, test } from 'vitest'
import { changeEmail, verify } from './address.ts'
import { acceptInvitation, invite, type Actor } from './membership.ts'
import type { People } from './people.ts'
import { nothing, plainPeople, VISITOR } from './people-fixture.ts'
import { beginReset, changePassword, confirmReset } from './reset.ts'
import { signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'

const EMAIL = 'ada@company.example'
const GUEST = 'eve@elsewhere.example'
const PASSWORD = 'tidal lantern cactus seven'
const NEW_PASSWORD = 'quiet marble harbour nine'
let db: Db
beforeEach(async () => {
  db = await openTestDatabase(4)
})
afterEach(() => db[Symbol.asyncDispose]())

/** People without limits, in this test's database. */
function peopleOf(onCheck = nothing, onHash = nothing, hasMail = false): People {
  return plainPeople(db, { onCheck, onHash, hasMail })
}

async function newUser(): Promise<string> {
  await signUp(peopleOf(), VISITOR, { name: 'Ada', email: EMAIL, password: PASSWORD })
  const { rows } = await db.pool.query<{ id: string }>('select id from users')
  await db.pool.query('delete from sessions')
  return rows[0]?.id ?? ''
}

async function setNewPassword(userId: string): Promise<void> {
  const user = await getUser(db, userId)
  await inTransaction(db, (tx) => changePassword(peopleOf(), tx, VISITOR, user, NEW_PASSWORD))
}

test('a sign-in with the old password does not outlast a change of it', async () => {
  const userId = await newUser()
  const people = peopleOf(() => setNewPassword(userId))
  const late = signIn(people, VISITOR, { email: EMAIL, password: PASSWORD })
  await expect(late).rejects.toMatchObject({ code: 'unauthorized' })
  expect(await listSessions(db, userId)).toEqual([])
})

test('a sign-in without the second factor does not outlast the setting of one', async () => {
  const userId = await newUser()
  const people = peopleOf(() =>
    inTransaction(db, async (tx) => {
      await beginFactor(tx, userId, 'secret')
      await confirmFactor(tx, userId, [Buffer.alloc(32)])
    }),
  )
  const late = signIn(people, VISITOR, { email: EMAIL, password: PASSWORD })
  await expect(late).rejects.toMatchObject({ code: 'unauthorized' })
  expect(await listSessions(db, userId)).toEqual([])
})

test('a change of the address by the old password does not outlast a change of the password', async () => {
  const userId = await newUser()
  const user = await getUser(db, userId)
  await setNewPassword(userId)
  const wanted = { email: GUEST, sessionId: 'ses_1' }
  for (const hasMail of [true, false]) {
    const late = changeEmail(peopleOf(nothing, nothing, hasMail), VISITOR, user, wanted)
    await expect(late).rejects.toMatchObject({ code: 'unprocessable' })
  }
  expect((await db.pool.query('select from link_codes')).rowCount).toBe(0)
  expect((await getUser(db, userId)).email).toBe(EMAIL)
})

test('a link to set a new password that goes to an address given up meanwhile is refused', async () => {
  const userId = await newUser()
  const people = peopleOf(nothing, nothing, true)
  await beginReset(people, VISITOR, EMAIL)
  let asked: Promise<void> | undefined
  await inTransaction(db, async (tx) => {
    await setEmail(tx, userId, { email: GUEST, emailKey: GUEST, verified: true })
    await deleteLinkCodes(tx, userId)
    asked = beginReset(people, VISITOR, EMAIL)
    await waitsForLock()
  })
  await asked
  const secrets = await sentSecrets()
  for (const token of secrets) {
    const late = confirmReset(people, VISITOR, { token, password: NEW_PASSWORD })
    await expect(late).rejects.toMatchObject({ code: 'unprocessable' })
  }
  expect(secrets).toHaveLength(2)
  expect((await getUser(db, userId)).passwordDigest).toBe(PASSWORD)
})

test.each([
  ['a link to set a new password', 'opened', 'reset'],
  ['a link to set a new password', 'asked for', 'reset'],
  ['a link to confirm an address', 'opened', 'verify'],
  ['a link to confirm an address', 'asked for', 'verify'],
] as const)('%s is %s while all are deleted, and neither waits for the other', async (...row) => {
  const [, action, kind] = row
  const userId = await newUser()
  const people = peopleOf(nothing, nothing, true)
  const user = await getUser(db, userId)
  const ask = async (): Promise<unknown> =>
    kind === 'reset'
      ? await beginReset(people, VISITOR, EMAIL)
      : await changeEmail(people, VISITOR, user, {
          email: 'ada@other.example',
          sessionId: 'ses_1',
        })
  await ask()
  const token = (await sentSecrets())[0] ?? ''
  const open = async (): Promise<unknown> =>
    kind === 'reset'
      ? await confirmReset(people, VISITOR, { token, password: NEW_PASSWORD })
      : await verify(people, VISITOR, { token })
  let late: Promise<unknown> | undefined
  await inTransaction(db, async (tx) => {
    await setEmail(tx, userId, { email: GUEST, emailKey: GUEST, verified: true })
    late = (action === 'opened' ? open() : ask()).catch((error: unknown) => error)
    await waitsForLock()
    await deleteLinkCodes(tx, userId)
  })
  if (action === 'opened') expect(await late).toMatchObject({ code: 'unprocessable' })
  else expect(await late).not.toBeInstanceOf(Error)
})

test('an invitation that is replaced while somebody signs up with it gives no membership', async () => {
  const owner = await actorOf(await newUser())
  const link = await invited(owner, 'owner')
  const people = peopleOf(nothing, async () => void (await invited(owner, 'viewer')))
  const form = { name: 'Guest', email: GUEST, password: PASSWORD, invitation: link }
  await expect(signUp(people, VISITOR, form)).rejects.toMatchObject({ code: 'unprocessable' })
  expect(await listMembers(db, owner.accountId)).toHaveLength(1)
})

test('an invitation that is replaced while it is accepted gives no membership', async () => {
  const owner = await actorOf(await newUser())
  await signUp(peopleOf(), VISITOR, { name: 'Guest', email: GUEST, password: PASSWORD })
  const link = await invited(owner, 'owner')
  const guest = await findUser(db, GUEST)
  if (guest === undefined) throw new Error('the guest has signed up')
  let accepted: Promise<unknown> | undefined
  await inTransaction(db, async (tx) => {
    await lockAccount(tx, owner.accountId)
    accepted = acceptInvitation(peopleOf(), guest, link).catch((error: unknown) => error)
    await waitsForLock()
    await tx
      .updateTable('invitations')
      .set({ role: 'viewer', digest: Buffer.alloc(32) })
      .execute()
  })
  expect(await accepted).toMatchObject({ code: 'unprocessable' })
  expect(await listMembers(db, owner.accountId)).toHaveLength(1)
})

test('who signs up while the members and invitations of the account are counted is counted once', async () => {
  const { accountId, userId } = await actorOf(await newUser())
  const invitation = await invited({ accountId, userId }, 'viewer')
  const form = { name: 'Guest', email: GUEST, password: PASSWORD, invitation }
  const counts: number[] = []
  let joining: Promise<unknown> | undefined
  await inTransaction(db, async (tx) => {
    await lockAccount(tx, accountId)
    counts.push((await listMembers(tx, accountId)).length)
    joining = signUp(peopleOf(), VISITOR, form)
    await Promise.race([joining, waitsForLock()])
    counts.push((await listInvitations(tx, accountId)).length)
  })
  await joining
  expect(counts).toEqual([1, 1])
  expect(await listMembers(db, accountId)).toHaveLength(2)
})

test('an owner who is removed while inviting somebody has invited nobody', async () => {
  const owner = await actorOf(await newUser())
  let inviting: Promise<unknown> | undefined
  await inTransaction(db, async (tx) => {
    await lockAccount(tx, owner.accountId)
    inviting = invited(owner, 'owner').catch((error: unknown) => error)
    await waitsForLock()
    await removeMember(tx, owner.accountId, owner.userId)
  })
  expect(await inviting).toMatchObject({ code: 'forbidden' })
  expect(await listInvitations(db, owner.accountId)).toEqual([])
})

test('a user who joins another account while the only one is closed stays in it', async () => {
  const owner = await actorOf(await newUser())
  const { id: accountId } = await createAccount(db, { email: 'olga@b.example', plan: 'free' })
  let closing: Promise<unknown> | undefined
  await inTransaction(db, async (tx) => {
    await addMember(tx, { accountId, userId: owner.userId, role: 'owner' })
    closing = inTransaction(db, async (closer) => {
      await setAccountState(closer, owner.accountId, { status: 'closed', reason: null })
      await revokeAccess(closer, owner.accountId)
    })
    await waitsForLock()
  })
  await closing
  expect(await membershipsOf(db, owner.userId)).toMatchObject([{ accountId, role: 'owner' }])
  expect(await findUser(db, EMAIL)).toMatchObject({ id: owner.userId })
})

async function actorOf(userId: string): Promise<Actor> {
  const [first] = await membershipsOf(db, userId)
  return { accountId: first?.accountId ?? '', userId }
}

/** The secret of a new invitation. */
async function invited(owner: Actor, role: 'owner' | 'viewer'): Promise<string> {
  const wanted = { email: GUEST, role, accountName: 'Ada', inviterName: 'Ada' }
  const { link } = await invite(peopleOf(), VISITOR, owner, wanted)
  return new URL(link ?? '').hash.slice(1)
}

/** The secrets of the links in all messages. */
async function sentSecrets(): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ sealed: string }>('select sealed from mails')
  return rows.map(({ sealed }) => /#(\w{40})/.exec(sealed)?.[1] ?? '')
}

/** Resolves once a statement waits for a lock. */
async function waitsForLock(): Promise<void> {
  const text =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await expect.poll(async () => (await db.pool.query(text)).rowCount, PATIENT).toBe(1)
}
