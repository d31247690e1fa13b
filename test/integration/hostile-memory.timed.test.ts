import { memoryFlags } from '@plumbline/local/children'
import { expect, test } from 'vitest'
import { sendHostile } from '@plumbline/testkit/hostile-send'
import { HOSTILE_UPLOADS } from '@plumbline/testkit/hostile-uploads'
import { call, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { peakMebibytes, resetPeak } from '@plumbline/testkit/peak-memory'
import { startService } from '@plumbline/testkit/service'

/** Less than `npm start` gives the API. */
const HEAP_MEGABYTES = 160

test('the maximum of concurrent JSON batches of an account, each of the maximum size, does not exhaust the API', async () => {
  await using database = await createTestDatabase()
  await using service = await startService({
    databaseUrl: database.url,
    redisUrl: undefined,
    workers: [],
    execArgv: (program) => memoryFlags(HEAP_MEGABYTES, program),
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

const MOST_SECONDS = 3
const MOST_MEGABYTES = 64
const JSON_UPLOADS = HOSTILE_UPLOADS.filter(({ name }) =>
  /JSON|record|beside|whose name/.test(name),
)

test.runIf(process.platform === 'linux')(
  'no JSON of 16 MiB takes the API more than 64 MB or 3 seconds, and the API keeps running',
  async () => {
    await using database = await createTestDatabase()
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl: undefined,
      workers: [['email', 'batch']],
      execArgv: (program) => memoryFlags(HEAP_MEGABYTES, program),
    })
    const account = await service.account()
    const caller: Caller = { service, account, key: account.liveKey }
    const records = Array.from({ length: 10_000 }, (_, at) => ({ email: `a${at}@example.com` }))
    const list = { product: 'email', start: false, records }
    for (let round = 0; round < 3; round += 1) await call(caller, 'POST', '/v1/batches', list)
    for (const hostile of JSON_UPLOADS) {
      const before = await resetPeak(service.api)
      const { answeredMs, verdict } = await sendHostile(caller, hostile)
      const grown = Math.round((await peakMebibytes(service.api)) - before)
      const refused = typeof verdict === 'object' && 'status' in verdict
      const seconds = refused ? Math.round(answeredMs / 100) / 10 : 0
      expect.soft([hostile.name, grown < MOST_MEGABYTES]).toEqual([hostile.name, true])
      expect.soft([hostile.name, seconds < MOST_SECONDS]).toEqual([hostile.name, true])
      expect.soft(verdict).not.toBe('gone')
    }
    expect((await call(caller, 'GET', '/v1/account')).status).toBe(200)
  },
)
