import { setTimeout as wait } from 'node:timers/promises'
import { storeRunningSums } from '@plumbline/db/batches/sums'
import type { Account, TestService } from '@plumbline/testkit/service'
import { startService } from '@plumbline/testkit/service'
import { atMost, median, type Figure } from './figure.ts'
import { fillTables } from './fill-tables.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'

/** Stored batches of two accounts, and rows of the running batches of two others. */
const FEW = 10
const MANY = 10_000
const SMALL_ROWS = 1_000
const LARGE_ROWS = 5_000_000
const RUNNING = 10
const CHUNK_ROWS = 1_000

const CALLS = 200
/** Largest permitted ratio of the larger account to the smaller one. */
const MOST = 1.25

/**
 * Duration of `POST /v1/batches` for an account with ten batches and one with ten thousand, and of
 * a page of batches with ten running batches of a thousand and of five million rows. Measured
 * alternately, so that other load affects both.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(measure)
}

async function measure({ name: backend, stores }: BenchBackend): Promise<readonly Figure[]> {
  await using service = await startService({
    ...stores,
    workers: [],
    env: { UNFINISHED_BATCHES_LIMIT: '1000000' },
  })
  const few = await storing(service, FEW)
  const many = await storing(service, MANY)
  const small = await running(service, SMALL_ROWS)
  const large = await running(service, LARGE_ROWS)
  await service.db.pool.query('vacuum analyze batches, chunks, tasks')
  const post = async (account: Account): Promise<Response> => {
    const body = { product: 'email', start: false, records: [{ email: 'u@known.example' }] }
    return await service.call(account.liveKey, 'POST', '/v1/batches', body)
  }
  const list = async (account: Account): Promise<Response> =>
    await service.call(account.liveKey, 'GET', '/v1/batches?limit=10')
  const posts = await inTurn([() => post(few), () => post(many)], 202)
  // Done here because no worker runs: these batches could not be processed.
  await storeRunningSums(service.db)
  const lists = await inTurn([() => list(small), () => list(large)], 200)
  const head = { backend, unit: 'ms' }
  return [
    atMost(
      { ...head, name: `stored-batches: new batch, with ${MANY} stored compared with ${FEW}` },
      posts[1],
      posts[0],
      MOST,
    ),
    atMost(
      {
        ...head,
        name: `stored-batches: page of batches, of ${LARGE_ROWS} rows compared with ${SMALL_ROWS}`,
      },
      lists[1],
      lists[0],
      MOST,
    ),
  ]
}

const COLUMNS = `id, account_id, mode, product, status, explain, charge_unknown, auto_start, retention_days,
  requested, source_key, file_name, file_bytes, rows_total, rows_billable, ats, sums, expires_at`

/** An account with this many ended batches. */
async function storing(service: TestService, count: number): Promise<Account> {
  const account = await service.account({ credits: 1_000_000 })
  await fillTables(
    service.db,
    [
      `insert into batches (${COLUMNS})
     select 'bat_' || substr(md5($1 || n), 1, 20), $1, 'live', 'email', 'completed', false, true, true, 30, '{}',
       'uploads/' || n, 'list.csv', 1000, 1000, 1000, '{"completed": "2026-11-01T00:00:00.000Z"}',
       '{"rowsDone": 1000, "creditsUsed": 1000, "answeredShare": 1, "verdicts": [1, 2, 3, 4]}',
       now() + interval '30 days'
     from generate_series(1, ${count}) n`,
    ],
    [account.id],
  )
  return account
}

/** An account with some half answered running batches of this many rows. */
async function running(service: TestService, rows: number): Promise<Account> {
  const account = await service.account({ credits: 1_000_000 })
  await fillTables(
    service.db,
    [
      `insert into batches (${COLUMNS})
     select 'bat_' || substr(md5($1 || n), 1, 20), $1, 'live', 'email', 'running', false, true, true, 30, '{}',
       'uploads/' || n, 'list.csv', 1000, ${rows}, ${rows}, '{"running": "2026-11-01T00:00:00.000Z"}', null, null
     from generate_series(1, ${RUNNING}) n`,
      `insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count, ip_count,
       domain_count, remaining, subjects, cells, settled_at)
     select b.id, n, n * ${CHUNK_ROWS}, ${CHUNK_ROWS}, ${CHUNK_ROWS}, ${CHUNK_ROWS}, 0, 0, 0,
       case n % 2 when 1 then 0 else ${CHUNK_ROWS} end, decode(repeat('00', 20000), 'hex'),
       decode(repeat('00', 20000), 'hex'), case n % 2 when 1 then now() end
     from batches b, generate_series(0, ${rows / CHUNK_ROWS - 1}) n where b.account_id = $1`,
      `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
     select batch_id, $1, 'live', 'email', 'full', no, ${CHUNK_ROWS}
     from chunks join batches b on b.id = batch_id where b.account_id = $1 and settled_at is null`,
    ],
    [account.id],
  )
  return account
}

/** Median milliseconds of two calls, made alternately. */
async function inTurn(
  calls: readonly [() => Promise<Response>, () => Promise<Response>],
  expected: number,
): Promise<readonly [number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let turn = 0; turn < CALLS; turn++) {
    for (const [at, call] of calls.entries()) {
      const startedMs = performance.now()
      const response = await call()
      const text = await response.text()
      if (response.status !== expected)
        throw new Error(`expected ${expected}, got ${response.status}: ${text}`)
      times[at]?.push(performance.now() - startedMs)
      await wait(1)
    }
  }
  return [median(times[0]), median(times[1])]
}
