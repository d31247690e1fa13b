import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test, vi } from 'vitest'
import { openPostgresChannel } from './channel.ts'
import { openDatabase } from './database.ts'

test('a connection that receives nothing any more, without being reset, is replaced', async () => {
  await using database = await createTestDatabase()
  await using proxy = await openLossyProxy(database.url)
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const errors: unknown[] = []
  await using channel = openPostgresChannel({
    db,
    url: proxy.url,
    onError: (error) => errors.push(error),
    tryMs: 1_000,
  })
  let renewals = 0
  channel.onRenewed(() => (renewals += 1))
  const heard = new Set<string>()
  await channel.subscribe('news', (message) => heard.add(message))
  const untilHeard = async (message: string): Promise<void> => {
    await vi.waitFor(async () => {
      await channel.publish('news', [message])
      expect(heard).toContain(message)
    }, PATIENT)
  }
  await untilHeard('before')
  const renewalsBefore = renewals
  proxy.loseAll()
  await vi.waitFor(() => expect(renewals).toBeGreaterThan(renewalsBefore), PATIENT)
  await untilHeard('after')
  expect(errors.length).toBeGreaterThan(0)
})
