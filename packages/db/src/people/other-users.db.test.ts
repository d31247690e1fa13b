import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { inTransaction, openDatabase, type Db, type Tx } from '../database.ts'
import { createKey, listKeys, noteKeysUsed, revokeKey } from '../keys.ts'
import {
  insertInvitation,
  listInvitations,
  removeInvitation,
  useInvitation,
} from './invitations.ts'
import {
  deleteLinkCodes,
  deleteLinkCodesOfAccount,
  deleteLinkCodesOfAddress,
  insertLinkCode,
  takeLinkCode,
} from './link-codes.ts'
import {
  addMember,
  listMembers,
  membershipsOf,
  removeAccountless,
  removeMember,
  roleOf,
  setRole,
} from './members.ts'
import {
  endSession,
  endSessions,
  hasUsedNetwork,
  insertSession,
  listSessions,
  noteSessionsUsed,
  renewSession,
} from './sessions.ts'
import {
  beginFactor,
  confirmFactor,
  removeFactor,
  renameUser,
  setEmail,
  setOperator,
  setPassword,
  setVerified,
  useRecoveryCode,
  useStep,
} from './users.ts'

const ADDRESS = 'one@b.example'

/** What an act needs of the first user and account. */
interface Own {
  readonly tx: Tx
  readonly session: string
  readonly key: string
}

let count = 0
const digest = (): Buffer => Buffer.alloc(32, (count += 1))
const DIGESTS = { reset: digest(), invitation: digest(), code: digest() }

/** Acts of user `one` and account `a`, whose other rows are to stay as they are. */
const ACTS: Readonly<Record<string, (own: Own) => Promise<unknown>>> = {
  rename: ({ tx }) => renameUser(tx, 'one', 'Ada'),
  password: ({ tx }) => setPassword(tx, 'one', 'new'),
  verified: ({ tx }) => setVerified(tx, 'one'),
  address: ({ tx }) => setEmail(tx, 'one', { email: ADDRESS, emailKey: ADDRESS, verified: true }),
  'begun factor': ({ tx }) => beginFactor(tx, 'one', 'of one'),
  factor: ({ tx }) => confirmFactor(tx, 'one', [DIGESTS.code]),
  'used step': ({ tx }) => useStep(tx, 'one', 7),
  'used recovery code': ({ tx }) => useRecoveryCode(tx, 'one', DIGESTS.code),
  'removed factor': ({ tx }) => removeFactor(tx, 'one'),
  operator: ({ tx }) => setOperator(tx, 'one', true),
  'no operator': ({ tx }) => setOperator(tx, 'one', false),
  'new secret': ({ tx, session }) =>
    renewSession(tx, session, { digest: digest(), proven: true, accountId: 'shared' }),
  'used link': ({ tx }) => takeLinkCode(tx, DIGESTS.reset),
  'links of an address': ({ tx }) => deleteLinkCodesOfAddress(tx, ADDRESS, 'sign_up'),
  'links of an account': ({ tx }) => deleteLinkCodesOfAccount(tx, 'a'),
  links: ({ tx }) => deleteLinkCodes(tx, 'one'),
  'used invitation': ({ tx }) => useInvitation(tx, DIGESTS.invitation),
  'revoked key': ({ tx }) => revokeKey(tx, { accountId: 'a', mode: 'live' }),
  'ended session': ({ tx, session }) => endSession(tx, 'one', session),
  'ended sessions': ({ tx }) => endSessions(tx, 'one'),
  role: ({ tx }) => setRole(tx, { accountId: 'shared', userId: 'one', role: 'viewer' }),
  'left account': ({ tx }) => removeMember(tx, 'shared', 'one'),
}

/** All rows but those of user `one` and account `a`. */
async function rowsOfOthers({ pool }: Db): Promise<readonly unknown[]> {
  const parts = {
    users: `id <> 'one'`,
    sessions: `user_id <> 'one'`,
    recovery_codes: `user_id <> 'one'`,
    link_codes: `user_id is distinct from 'one' and account_id is distinct from 'a'
      and email_key is distinct from '${ADDRESS}'`,
    members: `user_id <> 'one' or account_id = 'a'`,
    invitations: `account_id <> 'a'`,
    api_keys: `account_id <> 'a' or mode = 'test'`,
    accounts: `id <> 'a'`,
  }
  const text = Object.entries(parts).map(
    ([table, where]) =>
      `select '${table}' as name, to_jsonb(t) as row from ${table} t where ${where}`,
  )
  return (await pool.query<object>(`${text.join(' union all ')} order by 1, 2`)).rows
}

/** Two users, each with an account of their own and one that both share. */
async function fill(db: Db): Promise<Omit<Own, 'tx'>> {
  await db.pool.query(`
    insert into accounts (id, email, plan)
    select id, id || '@b.example', 'pro' from unnest('{a,b,shared}'::text[]) id;
    insert into users (id, name, email, email_key, password_digest)
    select id, id, id || '@b.example', id || '@b.example', '' from unnest('{two,three,one}'::text[]) id`)
  return await inTransaction(db, async (tx) => {
    const own = { session: '', key: '' }
    for (const [userId, accountId] of [
      ['two', 'b'],
      ['one', 'a'],
    ] as const) {
      const isOne = userId === 'one'
      for (const id of [accountId, 'shared']) {
        await addMember(tx, { accountId: id, userId, role: 'owner' })
        const from = { network: `of ${userId}`, browser: 'test', proven: false }
        const made = await insertSession(tx, { digest: digest(), userId, accountId: id, ...from })
        if (isOne) own.session = made
      }
      const emailKey = `${userId}@b.example`
      const link = { detail: null, isLocalOnly: false, minutes: 60 }
      for (const purpose of ['reset', 'verify_email'] as const) {
        const of = isOne && purpose === 'reset' ? DIGESTS.reset : digest()
        await insertLinkCode(tx, {
          ...link,
          purpose,
          userId,
          accountId: null,
          emailKey,
          digest: of,
        })
      }
      const nobody = { ...link, userId: null }
      const signUp = { purpose: 'sign_up', accountId: null, emailKey } as const
      await insertLinkCode(tx, { ...nobody, ...signUp, digest: digest() })
      const welcome = { purpose: 'welcome', accountId, emailKey: null } as const
      await insertLinkCode(tx, { ...nobody, ...welcome, digest: digest() })
      for (const mode of ['test', 'live'] as const) {
        const { record } = await createKey(tx, { accountId, mode, service: 'svc' })
        if (isOne) own.key = record.id
      }
      const to = { email: 'guest@b.example', emailKey: 'guest@b.example', role: 'member' } as const
      const of = { digest: isOne ? DIGESTS.invitation : digest(), invitedBy: userId }
      await insertInvitation(tx, { accountId, ...to, ...of })
      const more = { emailKey: 'more@b.example', digest: digest() }
      await insertInvitation(tx, { accountId, ...to, ...of, ...more })
      if (isOne) continue
      await beginFactor(tx, userId, 'sealed')
      await confirmFactor(tx, userId, [digest()])
    }
    return own
  })
}

test('no act of a user or account changes another', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 3, applicationName: 'test' })
  const own = await fill(db)
  await db.pool.query(`update sessions set used_at = now() - interval '1 hour'`)
  const before = await rowsOfOthers(db)
  await noteSessionsUsed(db, [own.session])
  await noteKeysUsed(db, [own.key])
  for (const [name, act] of Object.entries(ACTS)) {
    await inTransaction(db, (tx) => act({ tx, ...own }))
    expect({ name, rows: await rowsOfOthers(db) }).toEqual({ name, rows: before })
  }
  expect(await hasUsedNetwork(db, 'two', 'of one')).toBe(false)
  expect(await hasUsedNetwork(db, 'one', 'of two')).toBe(false)
  expect(await hasUsedNetwork(db, 'two', 'of two')).toBe(true)
  // Nothing of the other is found by its id alone, nor anything else of their own.
  const [kept, others] = await Promise.all(['a', 'b'].map((id) => listInvitations(db, id)))
  const { rows } = await db.pool.query<{ id: string }>(
    `select min(id) as id from sessions where user_id = 'two'`,
  )
  expect(await endSession(db, 'one', rows[0]?.id ?? '')).toBe(false)
  expect(await removeInvitation(db, 'a', others?.[0]?.id ?? '')).toBe(false)
  expect(await listInvitations(db, 'a')).toEqual(kept)
  expect(await rowsOfOthers(db)).toEqual(before)
  await inTransaction(db, async (tx) => {
    await removeMember(tx, 'a', 'one')
    await removeAccountless(tx, 'one')
  })
  const left = await db.pool.query<{ id: string }>('select id from users order by id')
  expect(left.rows.map(({ id }) => id)).toEqual(['three', 'two'])
})

test('what is listed of a user or account is all their own', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 3, applicationName: 'test' })
  const own = await fill(db)
  const accounts = (await membershipsOf(db, 'one')).map(({ accountId }) => accountId)
  expect(accounts.toSorted()).toEqual(['a', 'shared'])
  expect((await listMembers(db, 'a')).map(({ userId }) => userId)).toEqual(['one'])
  const invitations = await listInvitations(db, 'a')
  expect(invitations.map(({ accountId }) => accountId)).toEqual(['a', 'a'])
  expect((await listKeys(db, 'a')).map(({ accountId }) => accountId)).toEqual(['a', 'a'])
  const sessions = await listSessions(db, 'one')
  expect(sessions.map(({ network }) => network)).toEqual(['of one', 'of one'])
  expect(sessions.map(({ id }) => id)).toContain(own.session)
  const active = await db.pool.query('select from api_keys where revoked_at is null')
  expect(active.rowCount).toBe(4)
  const roles = [await roleOf(db, 'a', 'two'), await roleOf(db, 'a', 'one')]
  expect(roles).toEqual([undefined, 'owner'])
})

test('links are deleted by their purpose', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 3, applicationName: 'test' })
  await fill(db)
  const nobody = { userId: null, emailKey: null, detail: null, isLocalOnly: true, minutes: 60 }
  const wayIn = { purpose: 'way_in', accountId: 'a', digest: digest() } as const
  await insertLinkCode(db, { ...nobody, ...wayIn })
  const left = async (): Promise<readonly string[]> => {
    const { rows } = await db.pool.query<{ purpose: string }>(
      `select purpose from link_codes where user_id = 'one' or account_id = 'a' or email_key = $1
       order by purpose`,
      [ADDRESS],
    )
    return rows.map(({ purpose }) => purpose)
  }
  expect(await left()).toEqual(['reset', 'sign_up', 'verify_email', 'way_in', 'welcome'])
  await inTransaction(db, (tx) => deleteLinkCodes(tx, 'one', 'reset'))
  expect(await left()).toEqual(['sign_up', 'verify_email', 'way_in', 'welcome'])
  await deleteLinkCodesOfAddress(db, ADDRESS, 'sign_up')
  expect(await left()).toEqual(['verify_email', 'way_in', 'welcome'])
  await deleteLinkCodesOfAccount(db, 'a')
  expect(await left()).toEqual(['verify_email', 'way_in'])
})
