import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { revokeAccess } from './account-state.ts'
import { inTransaction, openDatabase } from './database.ts'
import { createKey } from './keys.ts'
import { insertInvitation } from './people/invitations.ts'
import { insertLinkCode } from './people/link-codes.ts'
import { insertSession } from './people/sessions.ts'

test('who loses access to an account loses all of it, and nothing of another', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  // Each user has a session for each account that is shown to them.
  const shown = { one: ['a'], both: ['a', 'b'], operator: ['a'], other: ['b'] } as const
  const pairs = Object.entries(shown).flatMap(([user, accounts]) =>
    accounts.map((account) => [user, account] as const),
  )
  await db.pool.query(`
    insert into accounts (id, email, plan) values ('a', 'a@b.example', 'pro'), ('b', 'b@b.example', 'pro');
    insert into users (id, name, email, email_key, password_digest, is_operator)
    select id, id, id || '@b.example', id || '@b.example', '', id = 'operator'
    from unnest('{one,both,operator,other,left}'::text[]) id;
    insert into api_keys (id, account_id, mode, digest, prefix, last4, revoked_at)
    values ('key_0', 'a', 'test', decode(repeat('00', 32), 'hex'), 'svc_test_', '0000', now() - interval '1 day')`)
  for (const [userId, accountId] of pairs) {
    await db.pool.query(
      `insert into members (account_id, user_id, role) values ($1, $2, 'owner')`,
      [accountId, userId],
    )
  }
  await inTransaction(db, async (tx) => {
    let count = 0
    const digest = (): Buffer => Buffer.alloc(32, (count += 1))
    for (const [userId, accountId] of pairs) {
      const from = { network: '192.0.2.1', browser: 'test', proven: false }
      await insertSession(tx, { digest: digest(), userId, accountId, ...from })
    }
    for (const accountId of ['a', 'b']) {
      await createKey(tx, { accountId, mode: 'live', service: 'svc' })
      const to = { email: 'guest@b.example', emailKey: 'guest@b.example', role: 'member' } as const
      await insertInvitation(tx, { accountId, ...to, digest: digest(), invitedBy: 'both' })
      const link = { purpose: 'welcome', userId: null, emailKey: null, detail: null } as const
      const of = { accountId, isLocalOnly: true, digest: digest(), minutes: 60 }
      await insertLinkCode(tx, { ...link, ...of })
    }
    await revokeAccess(tx, 'a')
  })
  const { rows } = await db.pool.query(`
    select 'key' as what, account_id as of from api_keys where revoked_at is null
    union all select 'former key', id from api_keys where revoked_at < now() - interval '1 hour'
    union all select 'invitation', account_id from invitations
    union all select 'link', account_id from link_codes
    union all select 'member', account_id || ' ' || user_id from members
    union all select 'session', account_id || ' ' || user_id from sessions
    union all select 'user', id from users order by 1, 2`)
  expect(rows.map(({ what, of }) => `${what} ${of}`)).toEqual([
    'former key key_0',
    'invitation b',
    'key b',
    'link b',
    'member b both',
    'member b other',
    'session b both',
    'session b other',
    'user both',
    'user left',
    'user operator',
    'user other',
  ])
})
