import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { holdDuty, leaveDuty } from './duties.ts'

const TERM_MS = 60_000

test('one process holds a duty until its term ends or it releases the duty', async () => {
  await using db = await openTestDatabase(1)
  const hold = (holder: string): Promise<boolean> => holdDuty(db, 'dispatch', holder, TERM_MS)
  expect([await hold('one'), await hold('other'), await hold('one')]).toEqual([true, false, true])
  await db.pool.query(`update duties set held_until = now() - interval '1 s'`)
  expect([await hold('other'), await hold('one')]).toEqual([true, false])
  await leaveDuty(db, 'dispatch', 'one')
  expect(await hold('one')).toBe(false)
  await leaveDuty(db, 'dispatch', 'other')
  expect(await hold('one')).toBe(true)
})

test('a clock that goes back does not leave a duty with a dead holder', async () => {
  await using db = await openTestDatabase(1)
  expect(await holdDuty(db, 'dispatch', 'gone', TERM_MS)).toBe(true)
  await db.pool.query(`update duties set held_until = held_until + interval '2 days'`)
  expect(await holdDuty(db, 'dispatch', 'next', TERM_MS)).toBe(true)
  expect(await holdDuty(db, 'dispatch', 'gone', TERM_MS)).toBe(false)
})
