import { openDatabase, type Db } from '@plumbline/db/database'
import type { LinkPurpose } from '@plumbline/db/tables/people'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { verify } from './address.ts'
import { insertLinkSecret } from './link.ts'
import { invite, lookAtInvitation } from './membership.ts'
import type { People } from './people.ts'
import { plainPeople, VISITOR } from './people-fixture.ts'
import { confirmReset } from './reset.ts'
import { signUp } from './sign-up.ts'
import { newAccessCode, welcome } from './welcome.ts'

const EMAIL = 'ada@company.example'
const PASSWORD = 'tidal lantern cactus seven'
const password = 'quiet marble harbour nine'

let stack: AsyncDisposableStack
let db: Db
let people: People
let userId: string
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  db = stack.use(openDatabase({ url: database.url, poolSize: 4, applicationName: 'people-test' }))
  people = plainPeople(db)
  await signUp(people, VISITOR, { name: 'Ada', email: EMAIL, password: PASSWORD })
  const { rows } = await db.pool.query<{ id: string }>('select id from users')
  userId = rows[0]?.id ?? ''
  await db.pool.query('delete from sessions')
})
afterEach(() => stack.disposeAsync())

/** What is done with the secret of a link, and for which links. */
const ACTS: Readonly<
  Record<
    string,
    { readonly of: readonly LinkPurpose[]; readonly run: (token: string) => Promise<unknown> }
  >
> = {
  welcome: {
    of: ['welcome', 'way_in'],
    run: (code) => welcome(people, VISITOR, { code, email: EMAIL, password }),
  },
  reset: { of: ['reset'], run: (token) => confirmReset(people, VISITOR, { token, password }) },
  verify: {
    of: ['sign_up', 'verify_email', 'change_email'],
    run: (token) => verify(people, VISITOR, { token, password: PASSWORD }),
  },
}

const PURPOSES = Object.values(ACTS).flatMap(({ of }) => of)

const linkOf = (purpose: LinkPurpose): Promise<string> =>
  insertLinkSecret(db, { purpose, userId, emailKey: EMAIL, minutes: 60 })

/** The password of the user, and how many sessions there are. */
async function state(): Promise<unknown> {
  const { rows } = await db.pool.query(`
    select password_digest as password, (select count(*)::int from sessions) as sessions from users`)
  return rows
}

test.each(Object.entries(ACTS))('a link is of no other use than its own: %s', async (_, act) => {
  const before = await state()
  for (const purpose of PURPOSES.filter((each) => !act.of.includes(each))) {
    const used = act.run(await linkOf(purpose))
    await expect(used).rejects.toMatchObject({ code: 'unprocessable' })
  }
  expect(await state()).toEqual(before)
})

test.each([
  ['welcome', 'way_in'],
  ['reset', 'reset'],
  ['verify', 'verify_email'],
] as const)('a link that is too old does nothing: %s', async (name, purpose) => {
  const token = await linkOf(purpose)
  const before = await state()
  await db.pool.query(`update link_codes set expires_at = now() - interval '1 s'`)
  await expect(ACTS[name]?.run(token)).rejects.toMatchObject({ code: 'unprocessable' })
  expect(await state()).toEqual(before)
  await db.pool.query(`update link_codes set expires_at = now() + interval '1 min'`)
  await ACTS[name]?.run(token)
})

test.each([true, false])(
  'a link for the machine of the service works there alone (it is one: %s)',
  async (isLocalOnly) => {
    const made = await newAccessCode(db, { email: EMAIL, isLocalOnly })
    const form = { code: made?.secret ?? '', email: EMAIL, password }
    const elsewhere = welcome(people, { ...VISITOR, isLocal: false }, form)
    if (!isLocalOnly) await elsewhere
    else {
      await expect(elsewhere).rejects.toMatchObject({ code: 'forbidden' })
      await welcome(people, VISITOR, form)
    }
  },
)

test('an invitation that is too old is neither shown nor accepted', async () => {
  const { rows } = await db.pool.query<{ id: string }>('select account_id as id from members')
  const actor = { accountId: rows[0]?.id ?? '', userId }
  const email = 'guest@elsewhere.example'
  const wanted = { email, role: 'member', accountName: 'Ada', inviterName: 'Ada' } as const
  const { link } = await invite(people, VISITOR, actor, wanted)
  const invitation = new URL(link ?? '').hash.slice(1)
  await lookAtInvitation(people, invitation)
  await db.pool.query(`update invitations set expires_at = now() - interval '1 s'`)
  const stale = { code: 'unprocessable' }
  await expect(lookAtInvitation(people, invitation)).rejects.toMatchObject(stale)
  const form = { name: 'Guest', email, password: PASSWORD, invitation }
  await expect(signUp(people, VISITOR, form)).rejects.toMatchObject(stale)
  expect((await db.pool.query('select from members')).rowCount).toBe(1)
})
