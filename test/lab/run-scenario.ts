import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { createAccount } from '@plumbline/db/accounts'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { spawnSimnet } from '../simnet/child.ts'
import { judgeLab, type Verdict } from './judge.ts'
import { openLoadBalancer } from './load-balancer.ts'
import { startCalls, submitBatches, type LabCall, type Names } from './load.ts'
import { openNameServer, type LabNameServer } from './name-server.ts'
import { startPostgresPair } from './postgres.ts'
import { startLabRedis } from './redis.ts'
import type { LabTarget, OwnLoad, Scenario } from './scenario.ts'
import { mountSmallDisk } from './small-disk.ts'

/** Size of a run; at scale 1 it has 10,000 accounts and 1,000 batches. */
export interface Size {
  readonly accounts: number
  readonly batches: number
  /** A million, times the scale. */
  readonly million: number
}

/** Result of one run of a scenario. */
export interface RunResult extends Verdict {
  /** Duration of the fault. */
  readonly lastedMs: number
  /** Milliseconds from the end of the fault until calls are answered and records are settled again. */
  readonly recoverMs: number
  /** Durations of the answered calls that must not suffer from the fault. */
  readonly callsMs: readonly number[]
  /** Calls without an outcome. */
  readonly refused: number
  /** The statuses of calls without an outcome, each with its number of calls. */
  readonly refusals: readonly string[]
  readonly deadRows: number
  /** The maximum of all processes' connections to Postgres. */
  readonly connections: number
  /** Notes and violations that the scenario itself reports. */
  readonly own: Required<Pick<OwnLoad, 'notes' | 'violations'>>
}

const CALLERS = 10
/** Accounts created concurrently. */
const CREATE_CONCURRENCY = 50
const POLL_MS = 200
const END_WITHIN_MS = 900_000
const CREDITS = 10_000
/** Arguments of an email worker whose engine has a delay, so that a fault hits work in progress. */
const CHECK_WORKER = ['email', '--delay=200', '--width=4']

const NAMES: Names = {
  call: (no) => `call${no}@calls.example`,
  row: (batchNo, row) => `u${row}@b${batchNo}.example`,
}

/**
 * Runs a scenario several times, one run after the other, on a service of its own under load, and
 * judges the result of each.
 */
export async function runScenario(
  scenario: Scenario,
  backend: 'redis' | 'embedded',
  size: Size,
  times: number,
): Promise<readonly RunResult[]> {
  await using stack = new AsyncDisposableStack()
  const target = await openTarget(stack, scenario, backend, size, times)
  const owners = await openAccounts(target.service, size.batches)
  const runs: RunResult[] = []
  let callCount = 0
  for (let runsBefore = 0; runsBefore < times; runsBefore++) {
    const { call, row } = scenario.names ?? NAMES
    const [callsBefore, batchesBefore] = [callCount, runsBefore * owners.length]
    const other = await target.service.account({ credits: size.million + CREDITS })
    const { result, calls } = await runOnce(scenario, { ...target, other, runsBefore }, owners, {
      call: (no) => call(callsBefore + no),
      row: (no, rowNo) => row(batchesBefore + no, rowNo),
    })
    callCount += calls
    runs.push(result)
  }
  return runs
}

async function runOnce(
  scenario: Scenario,
  target: LabTarget,
  owners: readonly Account[],
  names: Names,
): Promise<{ readonly result: RunResult; readonly calls: number }> {
  const { service, loadBalancer } = target
  const callers = await openAccounts(service, CALLERS)
  const half = Math.ceil(owners.length / 2)
  const prepared = (await scenario.prepare?.(target)) ?? {}
  const calls = startCalls(loadBalancer, callers, names.call)
  using samples = sample(service)
  const before = await submitBatches(loadBalancer, owners.slice(0, half), names.row)
  const during = submitBatches(loadBalancer, owners.slice(half), (no, row) =>
    names.row(half + no, row),
  )
  const from = performance.now()
  const own = await scenario.inject(target, prepared)
  const to = performance.now()
  const batches = [...before, ...(await during), ...(own?.batches ?? [])]
  await untilEnded(service)
  const made = await calls.stop()
  await untilSettled(service)
  const ownCalls = [...(prepared.calls ?? []), ...(own?.calls ?? [])]
  const gap = scenario.mayLoseWrites === true ? { from, to } : null
  const verdict = await judgeLab(service, batches, ownCalls.concat(made), gap)
  const answered = made.filter(({ isAnswered }) => isAnswered)
  const result = {
    ...verdict,
    lastedMs: to - from,
    recoverMs: Math.max(lastFailure(made, to), samples.progressAfter(to)) - to,
    callsMs: answered
      .filter((call) => scenario.isOther?.(call) ?? true)
      .map(({ beganMs, endedMs }) => endedMs - beganMs),
    refused: made.length - answered.length,
    refusals: refusalsIn(made),
    deadRows: await countDeadRows(service),
    connections: samples.connections(),
    own: { notes: own?.notes ?? [], violations: own?.violations ?? [] },
  }
  return { result, calls: made.length }
}

async function openTarget(
  stack: AsyncDisposableStack,
  scenario: Scenario,
  backend: 'redis' | 'embedded',
  size: Size,
  times: number,
): Promise<Omit<LabTarget, 'other' | 'runsBefore'>> {
  const postgres = stack.use(await startPostgresPair())
  const redis = backend === 'redis' ? stack.use(await startLabRedis()) : undefined
  const disk =
    scenario.diskBytes === undefined
      ? undefined
      : stack.use(mountSmallDisk(scenario.diskBytes * times))
  const files = disk?.path ?? (await mkdtemp(join(tmpdir(), 'plumbline-lab-files-')))
  if (disk === undefined) stack.defer(() => rm(files, { recursive: true, force: true }))
  const internet = await openInternet(stack, scenario)
  const worker = scenario.worker ?? (internet === undefined ? CHECK_WORKER : ['email'])
  const options = {
    databaseUrl: postgres.url,
    redisUrl: redis?.url,
    dataDir: disk?.path,
    engines: internet === undefined ? 'instant' : 'real',
    env: {
      FILES_URL: pathToFileURL(join(files, 'files')).href,
      // As in production: an API that stops is not ready for a second first, so that the load balancer leaves it.
      STOP_DELAY_SECONDS: '1',
      ...internet?.env,
      ...scenario.env,
    },
  } as const
  const service = stack.use(
    await startService({ ...options, workers: [worker, worker, ['batch']] }),
  )
  const apis: [TestService, ...TestService[]] = [service]
  for (let count = 1; count < (scenario.apiCount ?? 1); count++) {
    apis.push(stack.use(await startService({ ...options, workers: [] })))
  }
  // A server that stops reports an error to idle connections, which would end this process.
  for (const { db } of apis) db.pool.on('error', () => undefined)
  await fillAccounts(service, size.accounts)
  return {
    service,
    apis,
    loadBalancer: stack.use(openLoadBalancer(apis)),
    postgres,
    redis,
    nameServer: internet?.nameServer,
    disk,
    million: size.million,
  }
}

async function openInternet(
  stack: AsyncDisposableStack,
  { internet }: Scenario,
): Promise<{ nameServer: LabNameServer; env: Readonly<Record<string, string>> } | undefined> {
  if (internet === undefined) return undefined
  const { settings } = stack.use(await spawnSimnet(internet))
  const nameServer = stack.use(await openNameServer(settings['DNS_SERVERS'] ?? ''))
  return { nameServer, env: { ...settings, DNS_SERVERS: nameServer.address } }
}

async function fillAccounts({ db }: TestService, count: number): Promise<void> {
  await makeMany(count, (no) => createAccount(db, { email: `a${no}@lab.example`, plan: 'pro' }))
}

async function openAccounts(service: TestService, count: number): Promise<readonly Account[]> {
  return await makeMany(count, () => service.account({ credits: CREDITS }))
}

/** Calls `make` `count` times, at most 50 concurrently: more would time out waiting for a database connection. */
async function makeMany<T>(count: number, make: (no: number) => Promise<T>): Promise<readonly T[]> {
  const made: T[] = []
  for (let from = 0; from < count; from += CREATE_CONCURRENCY) {
    const some = Array.from({ length: Math.min(CREATE_CONCURRENCY, count - from) }, (_, at) =>
      make(from + at),
    )
    made.push(...(await Promise.all(some)))
  }
  return made
}

/**
 * The end of the last failed call of those that began after the fault; the end of the fault if none
 * failed; Infinity if the very last call failed.
 */
function lastFailure(calls: readonly LabCall[], endMs: number): number {
  if (calls.at(-1)?.isAnswered !== true) return Infinity
  const failed = calls.filter(({ beganMs, isAnswered }) => beganMs >= endMs && !isAnswered)
  return Math.max(endMs, ...failed.map(({ endedMs }) => endedMs))
}

function refusalsIn(calls: readonly LabCall[]): readonly string[] {
  const refused = calls.filter(({ isAnswered }) => !isAnswered)
  const byStatus = Map.groupBy(refused, ({ status }) => status ?? 'no answer')
  return [...byStatus].map(([status, { length }]) => `${status} for ${length} calls`)
}

interface Samples extends Disposable {
  connections(): number
  /** When the first record after a time was settled, by the clock of this process; that time if none was. */
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
  }, POLL_MS)
  return {
    connections: () => most,
    progressAfter: (ms) => {
      // Compared with the first sample after the fault, not with the last one before it: records may have
      // been settled between that one and the end of the fault.
      const after = seen.filter(({ atMs }) => atMs >= ms)
      const least = after[0]?.settled ?? 0
      return after.find(({ settled }) => settled > least)?.atMs ?? ms
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/**
 * Waits until no batch has anything left to do.
 *
 * @throws after fifteen minutes
 */
async function untilEnded({ db }: TestService): Promise<void> {
  await untilNone(
    db,
    `select count(*)::int as count from batches
     where status not in ('completed', 'canceled', 'failed', 'ready', 'expired')`,
  )
}

/** Waits until every debit is closed. */
async function untilSettled({ db }: TestService): Promise<void> {
  await untilNone(db, 'select count(*)::int as count from credit_unanswered')
}

async function untilNone(db: TestService['db'], statement: string): Promise<void> {
  const until = performance.now() + END_WITHIN_MS
  for (;;) {
    const { rows } = await db.pool.query<{ count: number }>(statement)
    if (rows[0]?.count === 0) return
    if (performance.now() > until) throw new Error(`${rows[0]?.count} are left: ${statement}`)
    await wait(POLL_MS)
  }
}

async function countDeadRows({ db }: TestService): Promise<number> {
  const { rows } = await db.pool.query<{ dead: number }>(
    'select sum(n_dead_tup)::int as dead from pg_stat_user_tables',
  )
  return rows[0]?.dead ?? 0
}
