import { randomBytes } from 'node:crypto'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { inTransaction } from '../database.ts'
import { sweepExpired, sweepIdleSessions } from '../sweep-expired.ts'
import { findSession, insertSession, noteSessionsUsed } from './sessions.ts'
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
    return (await findSession(db, digest)) !== undefined
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
