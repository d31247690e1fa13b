import { expect, test } from 'vitest'
import { openDatabase } from '@plumbline/db/database'
import { reportWorker } from '@plumbline/db/workers'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { examineWorkers } from './workers.ts'

test('each worker reports its own problems, but not a paused provider, which concerns all workers', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const shut = { name: 'smtp port 25', status: 'failed', detail: 'shut' } as const
  const paused = { name: 'hlr infobip', status: 'failed', detail: 'paused: out of credit' } as const
  const fine = { name: 'smtp probing', status: 'ok', detail: 'no provider refuses us' } as const
  await reportWorker(db, { name: 'a:1', kind: 'email', health: [shut, fine] })
  await reportWorker(db, { name: 'a:2', kind: 'phone', health: [paused] })
  await reportWorker(db, { name: 'b:3', kind: 'phone', health: [paused] })
  const findings = await examineWorkers({
    dataDir: '/nowhere',
    url: null,
    databaseUrl: database.url,
    redisUrl: null,
    keyPrefix: 'svc',
    stale: false,
  })
  expect(findings.map(({ name, status }) => `${name}: ${status}`)).toEqual([
    'worker email: ok',
    'worker email a:1: smtp port 25: failed',
    'worker phone: ok',
    'worker ip: failed',
    'worker domain: failed',
    'worker batch: failed',
  ])
})
