import { randomBytes } from 'node:crypto'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { inTransaction } from '../database.ts'
import { sweepExpired, sweepIdleSessions } from '../sweep-expired.ts'
import {
  endSession,
  findSession,
  insertSession,
  listSessions,
  noteSessionsUsed,
  SESSIONS_MAX,
} from './sessions.ts'
import { insertUser } from './users.ts'

test('a session ends after 7 days without use and after 30 days, used or not', async () => {
  await using db = await openTestDatabase()
  const digest = randomBytes(32)
  const user = await inTransaction(db, (tx) =>
    insertUser(tx, {
      name: 'Ada',
      email: 'ada@example.com',
      emailKey: 'ada@example.com',
      passwordDigest: 'none',
      verified: true,
    }),
  )
  const of = { userId: user?.id ?? '', accountId: null, network: '', browser: '' }
  const insertOne = (): Promise<string> =>
    inTransaction(db, (tx) => insertSession(tx, { ...of, digest, proven: false }))
  const id = await insertOne()
  const age = async (created: string, used: string): Promise<boolean> => {
    await db.pool.query(
      `update sessions set created_at = now() - $1::interval, used_at = now() - $2::interval,
         ends_at = now() - $1::interval + interval '30 days'`,
      [created, used],
    )
    const isFound = (await findSession(db, digest)) !== undefined
    expect(await listSessions(db, of.userId)).toHaveLength(isFound ? 1 : 0)
    return isFound
  }
  expect(await age('0 days', '0 days')).toBe(true)
  expect(await age('8 days', '167 hours')).toBe(true)
  expect(await age('8 days', '169 hours')).toBe(false)
  expect(await age('29 days', '1 minute')).toBe(true)
  expect(await age('31 days', '1 minute')).toBe(false)
  await age('6 days', '6 days')
  await noteSessionsUsed(db, [id])
  expect((await findSession(db, digest))?.usedAt.getTime()).toBeGreaterThan(Date.now() - 60_000)
  await age('8 days', '167 hours')
  await sweepIdleSessions(db, new AbortController().signal)
  expect((await db.pool.query('select from sessions')).rowCount).toBe(1)
  await age('8 days', '170 hours')
  await sweepIdleSessions(db, new AbortController().signal)
  expect((await db.pool.query('select from sessions')).rowCount).toBe(0)
  await insertOne()
  await age('31 days', '1 minute')
  await sweepExpired(db, new AbortController().signal)
  expect((await db.pool.query('select from sessions')).rowCount).toBe(0)
})

test('of more than a hundred sessions of a user the one unused for longest ends, and none of another', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(
    `with made as (
       insert into users (id, name, email, email_key, password_digest)
       select id, id, id || '@b.example', id || '@b.example', '' from unnest('{a,b}'::text[]) id
       returning id)
     insert into sessions (id, digest, user_id, ends_at, network, browser, used_at)
     select id || no, sha256((id || no)::bytea), id, now() + interval '1 day', '', '',
       now() - no * interval '1 min'
     from made, generate_series(1, $1::int) no`,
    [SESSIONS_MAX],
  )
  const session = { userId: 'a', accountId: null, network: '', browser: '', proven: false }
  const id = await inTransaction(db, (tx) =>
    insertSession(tx, { ...session, digest: randomBytes(32) }),
  )
  const idsOf = async (userId: string) => (await listSessions(db, userId)).map((each) => each.id)
  const before = (userId: string, count: number) =>
    Array.from({ length: count }, (_, no) => `${userId}${no + 1}`)
  expect(await idsOf('a')).toEqual([id, ...before('a', SESSIONS_MAX - 1)])
  expect(await endSession(db, 'a', id)).toBe(true)
  expect(await idsOf('a')).toEqual(before('a', SESSIONS_MAX - 1))
  expect(await idsOf('b')).toEqual(before('b', SESSIONS_MAX))
})
