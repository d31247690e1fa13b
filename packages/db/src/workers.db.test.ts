import type { EngineHealth } from '@plumbline/ports/engine'
import { sql } from 'kysely'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import {
  storeHeartbeat,
  deleteWorkerReport,
  readCapacity,
  readWorkers,
  reportWorker,
} from './workers.ts'

const SHUT: EngineHealth = { name: 'smtp port 25', status: 'failed', detail: 'shut' }

test('a worker is listed by its last report, until it stops or is silent for long', async () => {
  await using db = await openTestDatabase()
  await reportWorker(db, { name: 'b', kind: 'email', health: [SHUT] })
  await reportWorker(db, { name: 'a', kind: 'ip', health: [] })
  await reportWorker(db, { name: 'b', kind: 'ip', health: [] })
  await reportWorker(db, { name: 'b', kind: 'email', health: [] })
  await reportWorker(db, { name: 'c', kind: 'email', health: [SHUT] })
  const seen = await readWorkers(db)
  expect(seen.map(({ name, kind, health }) => ({ name, kind, health }))).toEqual([
    { name: 'b', kind: 'email', health: [] },
    { name: 'c', kind: 'email', health: [SHUT] },
    { name: 'a', kind: 'ip', health: [] },
    { name: 'b', kind: 'ip', health: [] },
  ])
  await deleteWorkerReport(db, 'b')
  await db.pool.query(
    `update workers set seen_at = seen_at - interval '10 minutes' where name = 'c'`,
  )
  expect((await readWorkers(db)).map(({ name }) => name)).toEqual(['a'])
  await reportWorker(db, { name: 'a', kind: 'ip', health: [] })
  const { rows } = await db.pool.query('select name from workers')
  expect(rows).toEqual([{ name: 'a' }])
})

test('a worker that died before the clock was set back is deleted with the next report', async () => {
  await using db = await openTestDatabase()
  for (const name of ['a', 'b', 'c']) await reportWorker(db, { name, kind: 'ip', health: [] })
  await db.pool.query(`update workers set seen_at = seen_at + interval '2 days' where name <> 'c'`)
  await storeHeartbeat(db, 'a')
  await reportWorker(db, { name: 'c', kind: 'ip', health: [] })
  expect((await readWorkers(db)).map(({ name }) => name)).toEqual(['a', 'c'])
})

test('workers that count each other as gone do not wait for each other', async () => {
  await using db = await openTestDatabase()
  for (const name of ['a', 'b', 'c']) await reportWorker(db, { name, kind: 'ip', health: [] })
  await db.pool.query(`update workers set seen_at = seen_at - interval '10 minutes'`)
  await db.kysely.transaction().execute(async (tx) => {
    // As if "b" deletes the report of "a", or sends its heartbeat.
    await sql`select from workers where name in ('a', 'b') for update`.execute(tx)
    await reportWorker(db, { name: 'c', kind: 'ip', health: [] })
  })
  const { rows } = await db.pool.query('select name from workers order by name')
  expect(rows).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
})

test("the capacity for tasks is the sum of the live workers' reports, each until it stops or is silent", async () => {
  await using db = await openTestDatabase()
  const none = { slots: 0, reserve: 0 }
  const usual = { email: { slots: 16, reserve: 4 }, phone: none, ip: none, domain: none }
  const emailCapacity = async (): Promise<unknown> => (await readCapacity(db, usual)).email
  expect(await readCapacity(db, usual)).toEqual({
    email: none,
    phone: none,
    ip: none,
    domain: none,
  })
  const capacity = { slots: 3, reserve: 1 }
  await reportWorker(db, { name: 'a', kind: 'email', health: [], capacity })
  await reportWorker(db, { name: 'a', kind: 'batch', health: [] })
  await reportWorker(db, { name: 'b', kind: 'email', health: [], capacity })
  await reportWorker(db, { name: 'b', kind: 'ip', health: [], capacity })
  expect(await readCapacity(db, usual)).toEqual({
    email: { slots: 6, reserve: 2 },
    phone: none,
    ip: capacity,
    domain: none,
  })
  await deleteWorkerReport(db, 'b')
  expect(await emailCapacity()).toEqual(capacity)
  // A worker of the version before, which does not report its capacity.
  await reportWorker(db, { name: 'old', kind: 'email', health: [] })
  expect(await emailCapacity()).toEqual({ slots: 19, reserve: 5 })
  await db.pool.query(`update workers set seen_at = seen_at - interval '31 s'`)
  expect(await emailCapacity()).toEqual({ slots: 16, reserve: 4 })
  expect(await storeHeartbeat(db, 'a')).toBe(2)
  expect(await emailCapacity()).toEqual({ slots: 19, reserve: 5 })
  // A crash of the database loses the reports.
  await db.pool.query('delete from workers')
  expect(await storeHeartbeat(db, 'a')).toBe(0)
})
