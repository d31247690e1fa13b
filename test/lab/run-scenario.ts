import { setTimeout as wait } from 'node:timers/promises'
import { createAccount } from '@plumbline/db/accounts'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { quantile } from '../bench/figure.ts'
import { judgeLab, type Verdict } from './judge.ts'
import { startCalls, submitBatches, type LabCall } from './load.ts'
import { startPostgresPair } from './postgres.ts'
import { startLabRedis } from './redis.ts'
import type { Scenario } from './scenarios.ts'

/** How much there is of everything; 1 is 10,000 accounts and 1,000 batches. */
export interface Size {
  readonly accounts: number
  readonly batches: number
}

/** What was seen of one scenario. */
export interface Seen extends Verdict {
  /** From the end of the fault until calls are answered and records are settled again. */
  readonly recoverMs: number
  readonly callsP99Ms: number
  /** Calls that were not answered with 200. */
  readonly refused: number
  readonly deadRows: number
  /** Connections of all processes to Postgres, at most. */
  readonly connections: number
}

const CALLERS = 10
/** Accounts that are made at a time. */
const MAKING = 50
const LOOK_MS = 200
const END_WITHIN_MS = 900_000
const CREDITS = 10_000
/** An engine that takes its time, so that a fault meets work under way. */
const CHECK_WORKER = ['email', '--delay=200', '--width=4']

/** Lets a scenario happen to a service of its own under load, and judges what has come of it. */
export async function runScenario(
  scenario: Scenario,
  backend: 'redis' | 'embedded',
  size: Size,
): Promise<Seen> {
  await using stack = new AsyncDisposableStack()
  const postgres = stack.use(await startPostgresPair())
  const redis = backend === 'redis' ? stack.use(await startLabRedis()) : undefined
  const service = stack.use(
    await startService({
      databaseUrl: postgres.url,
      redisUrl: redis?.url,
      workers: [CHECK_WORKER, CHECK_WORKER, ['batch']],
    }),
  )
  // What a server that ends says to idle connections is no fault of the lab.
  service.db.pool.on('error', () => undefined)
  await fillAccounts(service, size.accounts)
  const callers = await openAccounts(service, CALLERS)
  const owners = await openAccounts(service, size.batches)
  const half = Math.ceil(owners.length / 2)
  const calls = startCalls(service, callers)
  using samples = sample(service)
  const before = await submitBatches(service, owners.slice(0, half))
  const during = submitBatches(service, owners.slice(half))
  const from = performance.now()
  await scenario.happen({ service, postgres, redis })
  const to = performance.now()
  const batches = [...before, ...(await during)]
  await untilEnded(service)
  const made = await calls.stop()
  await untilSettled(service)
  const gap = scenario.mayLose === true ? { from, to } : null
  const verdict = await judgeLab(service, batches, made, gap)
  const answered = made.filter(({ status }) => status === 200)
  return {
    ...verdict,
    recoverMs: Math.max(lastFailure(made, to), samples.progressAfter(to)) - to,
    callsP99Ms: quantile(
      answered.map(({ beganMs, endedMs }) => endedMs - beganMs),
      0.99,
    ),
    refused: made.length - answered.length,
    deadRows: await countDead(service),
    connections: samples.connections(),
  }
}

async function fillAccounts({ db }: TestService, count: number): Promise<void> {
  await makeMany(count, (no) => createAccount(db, { email: `a${no}@lab.example`, plan: 'pro' }))
}

async function openAccounts(service: TestService, count: number): Promise<readonly Account[]> {
  return await makeMany(count, () => service.account({ credits: CREDITS }))
}

/** Makes so many, a few at a time: who waits for a connection for long is refused. */
async function makeMany<T>(count: number, make: (no: number) => Promise<T>): Promise<readonly T[]> {
  const made: T[] = []
  for (let from = 0; from < count; from += MAKING) {
    const some = Array.from({ length: Math.min(MAKING, count - from) }, (_, at) => make(from + at))
    made.push(...(await Promise.all(some)))
  }
  return made
}

/** When the last call failed that began after the fault; its end where none did, never where none was answered since. */
function lastFailure(calls: readonly LabCall[], endMs: number): number {
  if (calls.at(-1)?.status !== 200) return Infinity
  const failed = calls.filter(({ beganMs, status }) => beganMs >= endMs && status !== 200)
  return Math.max(endMs, ...failed.map(({ endedMs }) => endedMs))
}

interface Samples extends Disposable {
  connections(): number
  /** When records were settled for the first time after a moment, by the clock of this process. */
  progressAfter(ms: number): number
}

function sample({ db }: TestService): Samples {
  const seen: { readonly atMs: number; readonly settled: number }[] = []
  let most = 0
  let isLooking = false
  const look = async (): Promise<void> => {
    const { rows } = await db.pool.query<{ connections: number; settled: number }>(
      `select (select count(*)::int from pg_stat_activity
          where backend_type = 'client backend' and application_name <> 'test') as connections,
        (select coalesce(sum(settled), 0)::int from credit_holds) as settled`,
    )
    most = Math.max(most, rows[0]?.connections ?? 0)
    seen.push({ atMs: performance.now(), settled: rows[0]?.settled ?? 0 })
  }
  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    look()
      .catch(() => undefined)
      .finally(() => (isLooking = false))
  }, LOOK_MS)
  return {
    connections: () => most,
    progressAfter: (ms) => {
      // The first look after the fault may already see what was settled since, so it is compared with no other.
      const after = seen.filter(({ atMs }) => atMs >= ms)
      const least = after[0]?.settled ?? 0
      return after.find(({ settled }) => settled > least)?.atMs ?? ms
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** Waits until no batch has anything left to do. @throws where that does not come within fifteen minutes */
async function untilEnded({ db }: TestService): Promise<void> {
  await untilNone(
    db,
    `select count(*)::int as count from batches
     where status not in ('completed', 'canceled', 'failed', 'ready', 'expired')`,
  )
}

/** Waits until every debit has its end. */
async function untilSettled({ db }: TestService): Promise<void> {
  await untilNone(db, 'select count(*)::int as count from credit_unanswered')
}

async function untilNone(db: TestService['db'], statement: string): Promise<void> {
  const until = performance.now() + END_WITHIN_MS
  for (;;) {
    const { rows } = await db.pool.query<{ count: number }>(statement)
    if (rows[0]?.count === 0) return
    if (performance.now() > until) throw new Error(`${rows[0]?.count} are left: ${statement}`)
    await wait(LOOK_MS)
  }
}

async function countDead({ db }: TestService): Promise<number> {
  const { rows } = await db.pool.query<{ dead: number }>(
    'select sum(n_dead_tup)::int as dead from pg_stat_user_tables',
  )
  return rows[0]?.dead ?? 0
}
