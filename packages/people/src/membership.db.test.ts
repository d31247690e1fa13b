import { INVITATIONS_MAX } from '@plumbline/db/people/invitations'
import { listMembers, MEMBERS_MAX, membershipsOf } from '@plumbline/db/people/members'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { invite } from './membership.ts'
import { plainPeople, VISITOR } from './people-fixture.ts'
import { signUp } from './sign-up.ts'

test('an account invites no more people than it may have members, all of whom are listed', async () => {
  await using db = await openTestDatabase(4)
  const people = plainPeople(db)
  const password = 'tidal lantern cactus seven'
  const join = async (email: string, invitation?: string): Promise<void> =>
    void (await signUp(people, VISITOR, { name: 'Ada', email, password, invitation }))
  await join('ada@company.example')
  const { rows } = await db.pool.query<{ id: string }>('select id from users')
  const userId = rows[0]?.id ?? ''
  const accountId = (await membershipsOf(db, userId))[0]?.accountId ?? ''
  const open = 3
  await db.pool.query(
    `with made as (
       insert into users (id, name, email, email_key, password_digest)
       select 'usr_' || lpad(no::text, 16, '0'), 'Member', no || '@a.example', no || '@a.example', ''
       from generate_series(1, $2) no returning id)
     insert into members (account_id, user_id, role) select $1, id, 'member' from made`,
    [accountId, MEMBERS_MAX - open - 1],
  )
  const actor = { accountId, userId }
  const invited = async (email: string): Promise<string> => {
    const wanted = { email, role: 'member', accountName: 'Ada', inviterName: 'Ada' } as const
    const { link } = await invite(people, VISITOR, actor, wanted)
    return new URL(link ?? '').hash.slice(1)
  }
  const links = new Map<string, string>()
  for (let no = 0; no < open; no++) links.set(`${no}@b.example`, await invited(`${no}@b.example`))
  await expect(invited('more@b.example')).rejects.toMatchObject({ code: 'conflict' })
  // One that replaces another takes no place.
  links.set('0@b.example', await invited('0@b.example'))
  for (const [email, link] of links) await join(email, link)
  const members = await listMembers(db, accountId)
  expect(members.map(({ email }) => email)).toContain(`${open - 1}@b.example`)
  expect(members).toHaveLength(MEMBERS_MAX)
  expect(INVITATIONS_MAX).toBeLessThan(MEMBERS_MAX)
})
