import { revokeAccess, setAccountState } from '@plumbline/db/account-state'
import { createAccount, getAccount } from '@plumbline/db/accounts'
import { inTransaction } from '@plumbline/db/database'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { plainPeople, VISITOR } from './people-fixture.ts'
import { newAccessCode, welcome } from './welcome.ts'

test('a link for a new user leads to an account without members, never to a closed one', async () => {
  await using db = await openTestDatabase()
  const closed = await createAccount(db, { email: 'former@company.example', plan: 'free' })
  await inTransaction(db, async (tx) => {
    await setAccountState(tx, closed.id, { status: 'closed', reason: null })
    await revokeAccess(tx, closed.id)
  })
  const wanted = { email: 'ada@company.example', isLocalOnly: true }
  expect(await newAccessCode(db, wanted)).toBeUndefined()

  // Closed after the operator has named it.
  const made = await newAccessCode(db, { ...wanted, accountId: closed.id })
  const form = { code: made?.secret ?? '', email: wanted.email, password: 'tidal lantern cactus' }
  const people = plainPeople(db)
  await expect(welcome(people, VISITOR, form)).rejects.toMatchObject({ code: 'unprocessable' })
  expect((await getAccount(db, closed.id))?.email).toBe('former@company.example')

  const open = await createAccount(db, { email: 'owner@localhost', plan: 'free' })
  expect(await newAccessCode(db, wanted)).toMatchObject({ accountId: open.id })
})
