import { openDatabase } from '@plumbline/db/database'
import { readWorkers } from '@plumbline/db/workers'
import { newInstanceName } from '@plumbline/runtime/instance-name'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { reportHealth, type HealthSource } from './health-report.ts'

test('workers with the same host name and pid, as on the network of their host, are two workers', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  const ignore = (): void => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const source: HealthSource = { kind: 'email', health: () => Promise.resolve([]) }
  const [first, second] = [1, 2].map(() =>
    reportHealth({ instance: newInstanceName(), connections: { db }, log }, [source]),
  )
  const count = async (): Promise<number> => (await readWorkers(db)).length
  await expect.poll(count).toBe(2)
  await second?.[Symbol.asyncDispose]()
  expect(await count()).toBe(1)
  await first?.[Symbol.asyncDispose]()
  expect(await count()).toBe(0)
})
