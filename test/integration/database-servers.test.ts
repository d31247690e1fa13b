import { limitSessions } from '@plumbline/db/session-limits'
import { openDatabase } from '@plumbline/db/database'
import { formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { canRunPostgres15, startPostgres15 } from '@plumbline/testkit/debian-postgres'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { canRunPgBouncer, startPgBouncer } from '@plumbline/testkit/pgbouncer'
import { createTestDatabase, servingUrlOf } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type TestService } from '@plumbline/testkit/service'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

const ROWS = 2_500

/** Sessions of the server behind the pooler: fewer than one process has connections to it. */
const SESSIONS = 4

test.skipIf(!canRunPgBouncer() || !canRunPostgres15())(
  'everything works on Postgres 15 behind PgBouncer, the queue too',
  async () => {
    await using postgres = await startPostgres15()
    expect(await runCallsAndBatch(postgres.url, undefined)).toBe(ROWS + 1)
  },
)

test.skipIf(!canRunPgBouncer() || WITHOUT_REDIS)(
  'everything works behind PgBouncer with the queue on Redis',
  async () => {
    await using stack = new AsyncDisposableStack()
    const redis = await startRedis()
    stack.defer(async () => await redis?.stop())
    const database = stack.use(await createTestDatabase())
    expect(await runCallsAndBatch(database.url, redis?.url)).toBe(ROWS + 1)
  },
)

/**
 * Runs concurrent single calls, and a batch from its upload to its results.
 * @returns the lines of the results
 */
async function runCallsAndBatch(
  databaseUrl: string,
  redisUrl: string | undefined,
): Promise<number> {
  const serving = servingUrlOf(databaseUrl)
  await using pooler = await startPgBouncer(serving, SESSIONS)
  await using service = await startService({
    databaseUrl,
    redisUrl,
    workers: [['email', 'batch']],
    env: { DATABASE_URL: pooler.urlOf(serving), DATABASE_DIRECT_URL: serving },
  })
  await expectLimits(databaseUrl, serving, pooler.urlOf(serving))
  const account = await service.account({ plan: 'pro' })
  const caller: Caller = { service, account, key: account.liveKey }
  const emails = Array.from({ length: 50 }, (_, no) => `single${no}@b.example`)
  const answers = await Promise.all(emails.map(async (email) => await askFor(caller, email)))
  expect(answers).toEqual(emails.map((email) => [200, expect.objectContaining({ email })]))
  const rows = Array.from({ length: ROWS }, (_, no) => `user${no}@b.example\n`).join('')
  const batch = await runBatch(caller, formOf({ product: 'email' }, `email\n${rows}`))
  expect(batch).toMatchObject({ status: 'completed', rows: { total: ROWS, done: ROWS } })
  const results = await service.call(caller.key, 'GET', `/v1/batches/${batch.id}/results`)
  await expectLedgerIntact(service)
  return (await results.text()).trimEnd().split('\n').length
}

async function askFor({ service, key }: Caller & { service: TestService }, email: string) {
  const response = await service.call(key, 'POST', '/v1/email', { email })
  return [response.status, await response.json()]
}

/** Asserts that the role has the settings that connections through the pooler may not set. */
async function expectLimits(owner: string, serving: string, pooled: string): Promise<void> {
  const options = { poolSize: 1, applicationName: 'test' }
  await using db = openDatabase({ ...options, url: owner })
  await limitSessions(db, serving)
  await limitSessions(db, serving)
  const { rows } = await db.pool.query<{ setconfig: string[] }>(
    `select setconfig from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
     join pg_database d on d.oid = s.setdatabase
     where rolname = $1 and datname = current_database()`,
    [decodeURIComponent(new URL(pooled).username)],
  )
  expect(rows.flatMap(({ setconfig }) => setconfig).toSorted()).toEqual([
    'idle_in_transaction_session_timeout=60000ms',
    'jit=off',
    'statement_timeout=60000ms',
  ])
}
