import { inTransaction, openDatabase, type Db } from '@plumbline/db/database'
import { listSessions } from '@plumbline/db/people/sessions'
import { confirmFactor, beginFactor, getUser } from '@plumbline/db/people/users'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { beforeEach, afterEach, expect, test } from 'vitest'
import { changeEmail } from './address.ts'
import type { People, Visitor } from './people.ts'
import { changePassword } from './reset.ts'
import { signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'

const EMAIL = 'ada@company.example'
const PASSWORD = 'tidal lantern cactus seven'
const NEW_PASSWORD = 'quiet marble harbour nine'
const VISITOR: Visitor = {
  network: '192.0.2.1',
  site: '192.0.2.1',
  browser: 'test browser',
  isLocal: true,
  origin: 'http://localhost',
}
const free = async (): Promise<boolean> => true
const unlimited = { giveBack: async (): Promise<void> => undefined }

let stack: AsyncDisposableStack
let db: Db
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  db = stack.use(openDatabase({ url: database.url, poolSize: 4, applicationName: 'people-test' }))
})
afterEach(() => stack.disposeAsync())

/** People whose passwords are stored as they are; `meanwhile` runs once, after one was checked. */
function peopleOf(meanwhile: () => Promise<void> = async () => undefined, hasMail = false): People {
  let next = meanwhile
  return {
    db,
    settings: {
      signUp: 'open',
      hasMail,
      publicUrl: undefined,
      signUpsPerNetwork: 10,
      signUpsPerDomain: 10,
      invitationsPerDay: 10,
    },
    sealer: { encrypt: (text) => text, decrypt: (text) => text, digest: (text) => text },
    mailDomains: {
      judge: async (registrable) => ({ isDisposable: false, isFree: false, registrable }),
    },
    passwords: {
      hash: async (password) => password,
      matches: async (password, kept) => {
        const work = next
        next = async () => undefined
        await work()
        return password === kept
      },
    },
    tries: { pair: free, user: free, network: free },
    messages: { address: free, network: free },
    takeOfDay: async () => unlimited,
    wakeMail: () => undefined,
  }
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
  const wanted = { email: 'eve@elsewhere.example', sessionId: 'ses_1' }
  for (const hasMail of [true, false]) {
    const late = changeEmail(peopleOf(undefined, hasMail), VISITOR, user, wanted)
    await expect(late).rejects.toMatchObject({ code: 'unprocessable' })
  }
  expect((await db.pool.query('select from link_codes')).rowCount).toBe(0)
  expect((await getUser(db, userId)).email).toBe(EMAIL)
})
