import type { EngineHealth } from '@plumbline/ports/engine'
import { expect, test } from 'vitest'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { openDatabase } from './database.ts'
import { forgetWorker, readWorkers, reportWorker } from './workers.ts'

const SHUT: EngineHealth = { name: 'smtp port 25', status: 'failed', detail: 'shut' }

test('a worker is known by what it last said, until it stops or says nothing for long', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
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
  await forgetWorker(db, 'b')
  await db.pool.query(
    `update workers set seen_at = seen_at - interval '10 minutes' where name = 'c'`,
  )
  expect((await readWorkers(db)).map(({ name }) => name)).toEqual(['a'])
  await reportWorker(db, { name: 'a', kind: 'ip', health: [] })
  const { rows } = await db.pool.query('select name from workers')
  expect(rows).toEqual([{ name: 'a' }])
})
