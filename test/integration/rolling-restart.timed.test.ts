import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { backends } from '@plumbline/testkit/backends'
import { formOf, submitBatch, untilBatch, type Caller } from '@plumbline/testkit/batches'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type Member, type TestService } from '@plumbline/testkit/service'
import { expect, test } from 'vitest'

const ROWS = 1_200

/** A chunk takes five seconds of each check, longer than a stopping worker waits for it. */
const WORKER = ['email', 'phone', 'ip', 'domain', 'batch', '--delay=500', '--width=20']
const SETTINGS = { CHUNK_RECORDS: '200', DRAIN_SECONDS: '8', STOP_DELAY_SECONDS: '1' }

test.concurrent.each(backends())(
  'a rolling restart under load refuses no call, spends no attempt and ends in time on $name',
  async ({ redisUrl }) => {
    await using stack = new AsyncDisposableStack()
    const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'rolling-'))).path
    const database = stack.use(await createTestDatabase())
    const env = { ...SETTINGS, FILES_URL: pathToFileURL(dir).href }
    const databaseUrl = database.url
    const first = stack.use(
      await startService({ databaseUrl, redisUrl, env, workers: [WORKER, WORKER] }),
    )
    const second = stack.use(await startService({ databaseUrl, redisUrl, env, workers: [] }))
    const account = await first.account({ plan: 'pro' })
    const caller: Caller = { service: first, account, key: account.liveKey }
    const batch = await submitBatch(caller, formOf({ product: 'fraud-signals' }, fileOf(ROWS)))
    await untilBatch(caller, batch.id, ['running'])

    const done = new AbortController()
    const load = callUntil(done.signal, [first, second], account.liveKey)
    const attempts = mostAttempts(first, done.signal)
    const exits: (number | null)[] = []
    for (const member of [...first.workers, first.api, second.api]) {
      exits.push(await restart(member))
    }
    done.abort()

    expect(exits).toEqual([0, 0, 0, 0])
    const statuses = await load
    expect(statuses.length).toBeGreaterThan(10)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(await attempts).toBeLessThanOrEqual(1)
    const ended = await untilBatch(caller, batch.id, ['completed'])
    expect(ended.rows).toMatchObject({ total: ROWS, done: ROWS })
    await expectLedgerIntact(first)
  },
)

function fileOf(rows: number): string {
  const lines = Array.from(
    { length: rows },
    (_, no) => `u${no}@b.example,+4420794${10_000 + no},9.${no >> 8}.${no & 255}.1`,
  )
  return ['email,phone,ip', ...lines, ''].join('\n')
}

test('an API whose stop is shown for longer than it may close after its drain stops without an error', async () => {
  await using database = await createTestDatabase()
  const env = { STOP_DELAY_SECONDS: '12', DRAIN_SECONDS: '1' }
  await using service = await startService({ databaseUrl: database.url, workers: [], env })
  const { process } = service.api
  await service.api.kill('SIGTERM')
  expect(process.exitCode).toBe(0)
})

async function restart(member: Member): Promise<number | null> {
  const { process } = member
  await member.kill('SIGTERM')
  await member.restart()
  return process.exitCode
}

/** Calls as from a load balancer: to an API that was ready when last checked. */
async function callUntil(
  until: AbortSignal,
  apis: readonly TestService[],
  key: string,
): Promise<readonly number[]> {
  const statuses: number[] = []
  async function callRepeatedly(caller: number): Promise<void> {
    for (let turn = caller; !until.aborted; turn += 1) {
      const api = await readyOf(apis, turn)
      if (api === undefined) continue
      const email = `c${turn}@b.example`
      const { status } = await api.call(key, 'POST', '/v1/email', { email })
      statuses.push(status)
    }
  }
  await Promise.all([1, 2, 3, 4].map(callRepeatedly))
  return statuses
}

async function readyOf(
  apis: readonly TestService[],
  turn: number,
): Promise<TestService | undefined> {
  for (const at of apis.keys()) {
    const api = apis[(turn + at) % apis.length]
    const answer =
      api === undefined ? undefined : await fetch(`${api.url}/readyz`).catch(() => null)
    if (answer?.status === 200) return api
  }
  return undefined
}

/** Most attempts of a task, not counting returned ones. */
async function mostAttempts({ db }: TestService, until: AbortSignal): Promise<number> {
  let most = 0
  while (!until.aborted) {
    const { rows } = await db.pool.query<{ most: number }>(
      'select coalesce(max(attempts), 0)::int as most, pg_sleep(0.05) from tasks',
    )
    most = Math.max(most, rows[0]?.most ?? 0)
  }
  return most
}
