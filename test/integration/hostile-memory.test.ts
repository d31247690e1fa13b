import { memoryFlags } from '@plumbline/local/children'
import { expect, test } from 'vitest'
import { call, type Caller } from '../support/lists.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startService } from '../support/service.ts'

/** Less than `npm start` gives the API. */
const HEAP_MEGABYTES = 160

test('an account that sends as many JSON lists at once as it may, each as large as may be, does not exhaust the API', async () => {
  await using database = await createTestDatabase()
  await using service = await startService({
    databaseUrl: database.url,
    redisUrl: undefined,
    workers: [],
    execArgv: memoryFlags(HEAP_MEGABYTES),
  })
  const account = await service.account()
  const caller: Caller = { service, account, key: account.liveKey }
  const ref = 'x'.repeat(1_550)
  const records = Array.from({ length: 10_000 }, (_, at) => ({ email: `a${at}@example.com`, ref }))
  const list = { product: 'email', start: false, records }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => call(caller, 'POST', '/v1/batches', list)),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
  expect((await call(caller, 'GET', '/v1/account')).status).toBe(200)
})
