import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oneBackend } from '@plumbline/testkit/one-backend'
import { sendHostile, type Verdict } from '@plumbline/testkit/hostile-send'
import { HOSTILE_UPLOADS } from '@plumbline/testkit/hostile-uploads'
import { call, creditsOf, expectSettled, filesOf, type Caller } from '@plumbline/testkit/batches'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

// Hostile uploads: each gets its error, and none of its data stays.

describe.each(oneBackend('postgres'))('on $name', ({ redisUrl }) => {
  let stack: AsyncDisposableStack
  let service: TestService
  let caller: Caller
  let left: number

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'phone', 'ip', 'domain', 'batch']],
        // Data of a failed batch is erased in steps by the sweeps.
        env: { SWEEP_SECONDS: '1' },
      }),
    )
    const account = await service.account()
    caller = { service, account, key: account.liveKey }
    left = (await creditsOf(caller)).left
  })
  afterAll(() => stack.disposeAsync())

  test.each(HOSTILE_UPLOADS)('$name', async (hostile) => {
    const { verdict, id } = await sendHostile(caller, hostile)
    const taken = typeof verdict === 'object' && 'rows' in verdict
    if (taken) {
      left = (await creditsOf(caller)).left
      expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(204)
    } else if (id !== undefined) {
      expect((await call(caller, 'GET', `/v1/batches/${id}/results`)).status).toBe(409)
    }
    expectVerdict(verdict, hostile.verdict)
    await expect.poll(() => filesOf(service), PATIENT).toEqual([])
    await expect
      .poll(() => leftovers(service), PATIENT)
      .toEqual({ batches: 0, chunks: 0, parts: 0, tasks: 0 })
    await expectSettled(caller, left)
  })
})

function expectVerdict(actual: Verdict, wanted: Verdict): void {
  if (typeof wanted === 'string' || 'rows' in wanted) return expect(actual).toEqual(wanted)
  expect(actual).toEqual({ ...wanted, says: expect.stringContaining(wanted.says) })
}

/** Rows left in any table of batches, other than those of the failed batches themselves. */
async function leftovers({
  db,
}: TestService): Promise<Readonly<Record<string, number>> | undefined> {
  const { rows } = await db.pool.query<Record<string, number>>(
    `select
      (select count(*)::int from batches where status <> 'failed') as batches,
      (select count(*)::int from chunks) as chunks,
      (select count(*)::int from parts) as parts,
      (select count(*)::int from tasks) as tasks`,
  )
  return rows[0]
}
