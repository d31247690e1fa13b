import { createAccount } from '@plumbline/db/accounts'
import { inTransaction, type Db } from '@plumbline/db/database'
import { membershipsOf, removeMember } from '@plumbline/db/people/members'
import { findUser, insertUser, setOperator } from '@plumbline/db/people/users'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { verify } from './address.ts'
import { plainPeople, VISITOR } from './people-fixture.ts'
import { beginSession } from './session.ts'
import { signUp } from './sign-up.ts'

const FORM = { name: 'Ada', email: 'ada@company.example', password: 'tidal lantern cactus seven' }

interface Left {
  readonly db: Db
  readonly userId: string
  /** An account of somebody else. */
  readonly accountId: string
}

/** The user of the form, who has left the only account, that of somebody else. */
async function openLeft(): Promise<Left & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase(4))
  const { id: accountId } = await createAccount(db, { email: 'olga@company.example', plan: 'free' })
  const userId = await inTransaction(db, async (tx) => {
    const kept = { emailKey: FORM.email, passwordDigest: FORM.password, verified: true }
    const user = await insertUser(tx, { ...FORM, ...kept })
    await beginSession(tx, user?.id ?? '', VISITOR)
    return user?.id ?? ''
  })
  const owned = stack.move()
  return { db, userId, accountId, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The newest message, as stored by `plainPeople`. */
async function newestMail(db: Db): Promise<{ readonly kind: string; readonly token: string }> {
  const { rows } = await db.pool.query<{ kind: string; sealed: string }>(
    'select kind, sealed from mails order by id desc limit 1',
  )
  const { kind = '', sealed = '' } = rows[0] ?? {}
  return { kind, token: /#([0-9A-Za-z]{40})/.exec(sealed)?.[1] ?? '' }
}

test.each([true, false])(
  'who has left the only account signs up again with the same address, with mail: %s',
  async (hasMail) => {
    await using left = await openLeft()
    const { db, userId } = left
    const people = plainPeople(db, { hasMail })
    const password = 'seven gentle harbours west'
    await signUp(people, VISITOR, { ...FORM, password })
    if (hasMail) {
      const { kind, token } = await newestMail(db)
      expect(kind).toBe('verify')
      expect((await findUser(db, FORM.email))?.id).toBe(userId)
      expect(await verify(people, VISITOR, { token, password })).toMatchObject({
        outcome: 'signed_in',
      })
    }
    const user = await findUser(db, FORM.email)
    expect(user).toMatchObject({ passwordDigest: password, factor: null })
    const [own, ...others] = await membershipsOf(db, user?.id ?? '')
    expect([own?.role, others]).toEqual(['owner', []])
    expect(own?.accountId).not.toBe(left.accountId)
    const { rows } = await db.pool.query('select distinct user_id from sessions')
    expect(rows).toEqual([{ user_id: user?.id }])
  },
)

test('an operator without an account, or a user who has got one meanwhile, is replaced by no sign-up', async () => {
  await using left = await openLeft()
  const { db, userId, accountId } = left
  const people = plainPeople(db, { hasMail: true })
  await inTransaction(db, (tx) => setOperator(tx, userId, true))
  await signUp(people, VISITOR, FORM)
  expect((await newestMail(db)).kind).toBe('already_signed_up')

  await inTransaction(db, (tx) => setOperator(tx, userId, false))
  await signUp(people, VISITOR, FORM)
  const { kind, token } = await newestMail(db)
  expect(kind).toBe('verify')
  await db.pool.query(`insert into members (account_id, user_id, role) values ($1, $2, 'member')`, [
    accountId,
    userId,
  ])
  const opening = verify(people, VISITOR, { token, password: FORM.password })
  await expect(opening).rejects.toMatchObject({ code: 'conflict' })
  expect((await findUser(db, FORM.email))?.id).toBe(userId)
})

test('who has handed over the account of a mailbox makes no second one with it', async () => {
  await using left = await openLeft()
  const { db } = left
  const email = 'grace@company.example'
  await signUp(plainPeople(db), VISITOR, { ...FORM, email })
  const userId = (await findUser(db, email))?.id ?? ''
  const accountId = (await membershipsOf(db, userId))[0]?.accountId ?? ''
  await inTransaction(db, (tx) => removeMember(tx, accountId, userId))
  const people = plainPeople(db, { hasMail: true })
  await signUp(people, VISITOR, { ...FORM, email })
  expect((await newestMail(db)).kind).toBe('already_signed_up')
  const again = signUp(plainPeople(db), VISITOR, { ...FORM, email })
  await expect(again).rejects.toMatchObject({ code: 'conflict' })
})
