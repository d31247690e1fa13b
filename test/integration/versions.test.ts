import { randomBytes } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backends } from '@plumbline/testkit/backends'
import {
  expectSettled,
  formOf,
  readCells,
  submitBatch,
  untilBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { PATIENT } from '@plumbline/testkit/patience'
import { createEmptyDatabase } from '@plumbline/testkit/postgres'
import { startService, type Member, type TestService } from '@plumbline/testkit/service'
import { isSoak } from '@plumbline/testkit/soak'
import { openPreviousVersion } from '@plumbline/testkit/previous-version'
import { afterAll, expect, test, vi } from 'vitest'

// A real deploy: the previous version runs while the database is migrated and the new version starts;
// each is killed while it processes a batch.

const before = await openPreviousVersion()
afterAll(async () => {
  if (before.kind === 'here') await before[Symbol.asyncDispose]()
})

/**
 * A chunk takes two seconds, and a worker has sixteen concurrently: no batch ends before its worker is
 * killed.
 */
const WORKER = ['email', 'batch', '--delay=1000', '--width=100']
const ROWS = 6_000
const FEW_ROWS = 400
const CALLS = 6

/** On Postgres both versions also share the tables of the queue; `npm run soak` adds Redis. */
const SHOWN = backends().filter(({ name }) => isSoak() || name === 'postgres')

test.for(SHOWN)(
  'two versions on one database take over from each other, at the exact price, on $name',
  async ({ redisUrl }, { skip }) => {
    if (before.kind === 'absent') return skip(before.why)
    await using stack = new AsyncDisposableStack()
    const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'versions-'))).path
    const { url: databaseUrl } = stack.use(await createEmptyDatabase())
    const prefix = `versions-${randomBytes(6).toString('hex')}`
    const env = { CHUNK_RECORDS: '200', REDIS_PREFIX: prefix }
    const common = { databaseUrl, redisUrl, dataDir, workers: [WORKER], env }
    const credits = 100_000
    const account = await before.prepare(databaseUrl, credits)
    const old = stack.use(await startService({ ...common, root: before.root }))
    const byOld: Caller = { service: old, account, key: account.liveKey }

    const first = await submitBatch(byOld, fileOf('first', ROWS))
    await killAtWork(old)
    // The API of the previous version keeps running on the migrated database.
    const now = stack.use(await startService(common))
    const byNew: Caller = { service: now, account, key: account.liveKey }
    await expectWhole([byNew, byOld], first.id, 'first', ROWS)

    const second = await submitBatch(byOld, fileOf('second', ROWS))
    await untilStarted(now, second.id)
    await killAtWork(now)
    await memberOf(old).restart()
    await expectWhole([byOld, byNew], second.id, 'second', ROWS)

    await memberOf(now).restart()
    const together = await Promise.all([
      submitBatch(byOld, fileOf('old', FEW_ROWS)),
      submitBatch(byNew, fileOf('new', FEW_ROWS)),
    ])
    const statuses = await Promise.all(
      [old, now].flatMap((service, at) =>
        Array.from({ length: CALLS }, (_, no) => askOne(service, account.liveKey, `c${at}${no}`)),
      ),
    )
    expect(statuses).toEqual(statuses.map(() => 200))
    for (const [at, name] of ['old', 'new'].entries()) {
      await expectWhole([byNew, byOld], together[at]?.id ?? '', name, FEW_ROWS)
    }
    await expectSettled(byNew, (await leftBefore(now, account.id)) - spent())
  },
)

function spent(): number {
  return 2 * ROWS + 2 * FEW_ROWS + 2 * CALLS
}

/** Credits that the account was granted. */
async function leftBefore({ db }: TestService, accountId: string): Promise<number> {
  const { rows } = await db.pool.query<{ given: number }>(
    `select sum(allowance_delta + packs_delta)::int as given from credit_entries
     where account_id = $1 and kind in ('grant', 'goodwill')`,
    [accountId],
  )
  return rows[0]?.given ?? 0
}

function fileOf(word: string, rows: number): FormData {
  return formOf({ product: 'email' }, `email\n${addressesOf(word, rows).join('\n')}\n`)
}

function addressesOf(word: string, rows: number): readonly string[] {
  return Array.from({ length: rows }, (_, no) => `${word}${no}@b${no % 50}.example`)
}

async function askOne(service: TestService, key: string, name: string): Promise<number> {
  const response = await service.call(key, 'POST', '/v1/email', { email: `${name}@b.example` })
  await response.text()
  return response.status
}

function memberOf({ workers }: TestService): Member {
  const [worker] = workers
  if (worker === undefined) throw new Error('the service has no worker')
  return worker
}

/**
 * Waits until all tasks of a batch are written: this version writes them in steps, which the previous
 * one cannot continue.
 */
async function untilStarted({ db }: TestService, id: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rowCount } = await db.pool.query(
      `select from batches where id = $1 and status = 'running' and tasks_from is null`,
      [id],
    )
    expect(rowCount).toBe(1)
  }, PATIENT)
}

/** Concurrent tasks of one worker. */
const AT_ONCE = 20

/**
 * Kills the only worker of a service when it has claimed all tasks whose jobs it took: a job whose task
 * is not claimed is given to another worker only when its lock has expired.
 */
async function killAtWork(service: TestService): Promise<void> {
  const worker = memberOf(service)
  await vi.waitFor(async () => {
    if (!(await hasClaimedAll(service))) throw new Error('the worker has not claimed its tasks yet')
    // It is stopped first, so that it still has them.
    worker.process.kill('SIGSTOP')
    if (await hasClaimedAll(service)) return
    worker.process.kill('SIGCONT')
    throw new Error('the worker has ended tasks')
  }, PATIENT)
  await worker.kill('SIGKILL')
  // As if its leases had expired.
  await service.db.pool.query(
    'update tasks set lease_until = clock_timestamp() where lease_until is not null',
  )
}

async function hasClaimedAll({ db }: TestService): Promise<boolean> {
  const { rows } = await db.pool.query<{ claimed: number; leased: number }>(
    `select count(*) filter (where attempts > 0)::int as claimed, count(*)::int as leased
     from tasks where lease_until is not null`,
  )
  const [{ claimed, leased } = { claimed: 0, leased: 0 }] = rows
  return claimed > 0 && claimed >= Math.min(AT_ONCE, leased)
}

/** Asserts that a batch has completed with all of its rows, in either version. */
async function expectWhole(
  callers: readonly Caller[],
  id: string,
  word: string,
  rows: number,
): Promise<void> {
  const emails = addressesOf(word, rows)
  for (const caller of callers) {
    const batch = await untilBatch(caller, id)
    expect(batch).toMatchObject({ status: 'completed', rows: { total: rows, done: rows } })
    expect(batch.credits).toMatchObject({ held: 0, used: rows })
    const [head = [], ...lines] = await readCells(caller, id)
    const charged = head.indexOf('result.credits_charged')
    expect(lines.map(([email]) => email)).toEqual(emails)
    expect(lines.every((cells) => cells[charged] === '1')).toBe(true)
  }
}
