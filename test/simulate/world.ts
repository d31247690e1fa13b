import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { grantGoodwill } from '@plumbline/metering/grant'
import { readBalance } from '@plumbline/metering/balance'
import type { QueueDepth } from '@plumbline/queue/backend'
import { depth } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import { openRedisQueues } from '@plumbline/queue/redis-queues'
import { createCustomers, type SimulatedAccount } from './customers.ts'
import { openDatabaseClock } from './database-clock.ts'
import type { InjectedFault } from './connection-fault.ts'
import { injectFault } from './inject-fault.ts'
import { ENDED, excessInFlight, judge } from './judge.ts'
import { MEMBERS, type MemberName } from './plan-faults.ts'
import type { PlannedRequest, Plan } from './plan.ts'
import {
  killMember,
  startMember,
  type Member,
  type MemberSetup,
  type ReachedApi,
} from './service.ts'
import { watchIdleTransactions } from './idle-transactions.ts'
import { watchTransactions } from './open-transactions.ts'
import { note } from './trace.ts'
import { openServerSessions } from './server-sessions.ts'
import { createTaskBounds } from './task-bounds.ts'
import type { FullestQueue, WorldServers, World } from './world-state.ts'
import { hasWorkInProgress } from './work-in-progress.ts'
import { waitRealTime, type VirtualTime } from './virtual-time.ts'

/** Result of a world. */
export interface WorldResult {
  readonly faults: readonly string[]
  /** Virtual milliseconds until all work was done. */
  readonly lastedMs: number
  readonly batchCount: number
  readonly callCount: number
  readonly fullest: FullestQueue
}

/** Virtual milliseconds of a step of time: each is twice the previous one while no work is in progress. */
const STEP_MS = { least: 40, most: 400 }

/**
 * Virtual milliseconds after the last request and fault within which all work must be done. A fault
 * counts when it happens: a connection that has one in wait may not be used again at once.
 */
const IDLE_WITHIN_MS = 300_000

/** Virtual milliseconds after the last fault within which calls are answered again. */
const ANSWERS_WITHIN_MS = 90_000

/** Turns of the event loop before each step, so that data in transit between sockets arrives. */
const TURNS = 4

/** Virtual milliseconds between two checks of the invariants, at least. */
const CHECK_EVERY_MS = 1_000

/** Runs a world to its end and judges the result; a process runs only one world at a time. */
export async function runWorld(servers: WorldServers, time: VirtualTime): Promise<WorldResult> {
  const { plan } = servers
  using sessions = openServerSessions(servers.servingUrl)
  await using databaseClock = openDatabaseClock(servers.ownerUrl, time.nowMs())
  await using db = openDatabase({
    url: servers.ownerUrl,
    poolSize: 3,
    applicationName: 'simulate',
  })
  await databaseClock.set(time.nowMs())
  const accounts = await openAccounts(db, plan)
  const members = new Map<MemberName, Member>()
  const apis = (): readonly ReachedApi[] =>
    [...members.values()].flatMap(({ api, owner }) =>
      api === undefined || owner.isDead ? [] : [api],
    )
  const world: World = {
    servers,
    time,
    databaseClock,
    db,
    members,
    setup: setupOf({ servers, sessions, time }, (member, injected) => {
      faultHappened(world, member, injected)
    }),
    customers: createCustomers(time, accounts, {
      apis,
      momentMs: () => databaseClock.momentOf(time.nowMs()),
      note: (event) => note(world, event),
    }),
    queue:
      servers.redisUrl === undefined
        ? undefined
        : await openRedisQueues({
            redisUrl: servers.redisUrl,
            prefix: prefixOf(plan),
            onError: () => undefined,
          }),
    violations: new Set(),
    bounds: createTaskBounds(db),
    fullest: { jobs: 0, bound: 1 },
    begunMs: time.nowMs(),
    faultMs: time.nowMs(),
    takeOver: undefined,
    isHeld: false,
    queueEmptied: Promise.resolve(),
    hasEnded: false,
  }
  if (servers.redisUrl !== undefined) await simulateDriver(world)
  const passing = advanceTime(world)
  await Promise.all(
    MEMBERS.map(async (name) => void members.set(name, await startMember(world.setup, name))),
  )
  note(world, { began: plan.seed })
  const isDone = await runPlan(world)
  const restMs = time.nowMs()
  if (isDone) await judgeAnswers(world)
  const isIdle = isDone && (await untilIdle(world))
  for (const { postgres } of members.values()) postgres.disarm()
  note(world, {
    ended: isIdle ? 'idle' : 'not idle',
    now: databaseClock.momentOf(time.nowMs()),
  })
  const faults = await judge({ plan, db, time, customers: world.customers, accounts })
  world.hasEnded = true
  await passing
  for (const member of members.values()) killMember(member)
  const { batches, calls } = world.customers
  return {
    faults: [...world.violations, ...faults],
    lastedMs: restMs - world.begunMs,
    batchCount: batches.length,
    callCount: calls.length,
    fullest: world.fullest,
  }
}

function faultHappened(world: World, member: MemberName, { fault, forMs }: InjectedFault): void {
  const { time, members, servers } = world
  note(world, { happened: fault, member })
  const endMs = time.nowMs() + (Number.isFinite(forMs) ? forMs : 0)
  world.faultMs = Math.max(world.faultMs, endMs)
  if (fault === 'promote') world.takeOver?.()
  if (fault === 'lose_commit' && !servers.plan.isPooled)
    for (const { postgres } of members.values()) postgres.cut()
}

/** The key prefix of a world: one Redis is used by successive worlds. */
function prefixOf({ seed }: Plan): string {
  return `simulation-${seed}`
}

function setupOf(
  { servers, sessions, time }: Pick<MemberSetup, 'sessions' | 'time'> & Pick<World, 'servers'>,
  onFault: MemberSetup['onFault'],
): MemberSetup {
  return {
    plan: servers.plan,
    time,
    databaseUrl: servers.servingUrl,
    sessions,
    redisUrl: servers.redisUrl,
    redisPrefix: prefixOf(servers.plan),
    proxies: { postgres: [], redis: [] },
    gate: { open: Promise.resolve() },
    dataDir: servers.dataDir,
    logPath: servers.logPath,
    onFault,
  }
}

async function openAccounts(db: Db, plan: Plan): Promise<readonly SimulatedAccount[]> {
  const accounts: SimulatedAccount[] = []
  for (const [at, credits] of plan.accounts.entries()) {
    const { id } = await createAccount(db, { email: `account${at}@example.com`, plan: 'pro' })
    const { key } = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
    await grantGoodwill(db, id, credits, `simulation-${at}`)
    const balance = await readBalance(db, id)
    accounts.push({ id, key, credits: balance?.available ?? 0 })
  }
  return accounts
}

/**
 * Replaces the command TIME of Redis, whose clock cannot be set, by the simulated clock; and the time limit
 * of a connection without a reply, so that it is over in simulated time if the connection is silent.
 */
async function simulateDriver({ time, databaseClock, setup }: World): Promise<void> {
  const { Redis } = await import('ioredis')
  const isSilent = ({ localPort }: Socket): boolean =>
    setup.proxies.redis.some((proxy) => proxy.isSilent(localPort))
  Object.defineProperty(Redis.prototype, 'setSocketTimeout', {
    configurable: true,
    value: function limit(this: LimitedClient): void {
      const { stream, options } = this
      const wait = (): void => {
        this.socketTimeoutTimer = setTimeout(() => {
          if (stream.destroyed) return
          // A command may block for seconds of real time, which are minutes of simulated time.
          if (!isSilent(stream)) return wait()
          stream.destroy(new Error(`no reply for ${options.socketTimeout} ms`))
        }, options.socketTimeout)
      }
      wait()
      stream.once('data', () => {
        clearTimeout(this.socketTimeoutTimer)
        this.socketTimeoutTimer = undefined
        if (this.commandQueue.length > 0) this.setSocketTimeout()
      })
    },
  })
  Object.defineProperty(Redis.prototype, 'time', {
    configurable: true,
    value: async () => {
      const ms = databaseClock.momentOf(time.nowMs())
      return [String(Math.floor(ms / 1_000)), String(Math.floor((ms % 1_000) * 1_000))]
    },
  })
}

/** What `setSocketTimeout` of ioredis 5.12 uses of its client. */
interface LimitedClient {
  readonly stream: Socket
  readonly options: { readonly socketTimeout: number }
  readonly commandQueue: { readonly length: number }
  socketTimeoutTimer: NodeJS.Timeout | undefined
  setSocketTimeout(): void
}

/** Advances time until the world has ended. */
async function advanceTime(world: World): Promise<void> {
  const { time, databaseClock, members, db } = world
  const transactions = watchTransactions(db, () => [...members.values()])
  const idle = watchIdleTransactions(db, world.setup.proxies.postgres)
  let stepMs = STEP_MS.least
  let checkedMs = time.nowMs()
  const isBusy = async (): Promise<boolean> => {
    await waitRealTime(1)
    for (let turn = 0; turn < TURNS; turn++) await nextTurn()
    return await hasWorkInProgress(db, [...members.values()], time.nowMs())
  }
  const isBusyAfterReplies = async (): Promise<boolean> => {
    await serversReplied(world)
    return await isBusy()
  }
  while (!world.hasEnded) {
    // Twice: a job or a message may be on its way to a process that only waits for one.
    while (world.isHeld) await waitRealTime(1)
    if ((await isBusy()) || (await isBusyAfterReplies())) {
      stepMs = STEP_MS.least
      continue
    }
    stepMs = Math.min(STEP_MS.most, stepMs * 2)
    const untilMs = time.nowMs() + stepMs
    await databaseClock.set(untilMs)
    time.advanceTo(untilMs)
    await idle.end(untilMs)
    if (untilMs - checkedMs < CHECK_EVERY_MS) continue
    checkedMs = untilMs
    await checkInvariants(world)
    const open = await transactions.check(untilMs)
    if (open !== undefined) world.violations.add(open)
  }
}

/**
 * Waits for a reply of both servers. Redis has then sent what it had to send before; Postgres notifies
 * from another process, which has nearly always done so by then.
 */
async function serversReplied({ db, queue }: World): Promise<void> {
  await Promise.all([db.pool.query('select'), queue?.redis?.commands.ping()])
}

/** Checks the conditions that must hold at every moment. */
async function checkInvariants(world: World): Promise<void> {
  await world.bounds.update(world.time.nowMs())
  const boundOf = world.bounds.of
  const excess = await excessInFlight(world.db, boundOf)
  if (excess !== undefined) world.violations.add(excess)
  for (const check of CHECKS) {
    const { waiting, active } = await jobsOf(world, check).catch(() => NO_JOBS)
    const [jobs, bound] = [waiting + active, boundOf(check)]
    if (jobs / bound > world.fullest.jobs / world.fullest.bound) world.fullest = { jobs, bound }
    // Half as many more: on a slow machine a job may be taken for lost, and added again.
    if (waiting <= 1.5 * bound) continue
    world.violations.add(`the queue of ${check} held far more jobs than its limit of ${bound}`)
  }
}

const NO_JOBS: QueueDepth = { waiting: 0, active: 0 }

/** Counts the jobs of a queue of tasks; rejects while it is being recreated. */
async function jobsOf({ db, queue }: World, check: Check): Promise<QueueDepth> {
  const name = bulkQueueOf(check)
  if (queue !== undefined) return await depth(queue, name)
  const { rows } = await db.pool.query<QueueDepth>(
    `select count(*) filter (where state = 'waiting')::int as waiting,
      count(*) filter (where state = 'active')::int as active
     from bullmq.job where queue = $1`,
    [name],
  )
  return rows[0] ?? NO_JOBS
}

/**
 * Sends all requests and injects all faults of the plan; returns whether all work was done within the
 * permitted time.
 */
async function runPlan(world: World): Promise<boolean> {
  const { time, servers, customers } = world
  const begunMs = time.nowMs()
  const at = async (ms: number, happens: () => Promise<void>): Promise<void> => {
    await time.wait(begunMs + ms - time.nowMs())
    await happens()
  }
  await Promise.all([
    ...servers.plan.requests.map((request) => at(request.atMs, () => sendPlanned(world, request))),
    ...servers.plan.faults.map((fault) => at(fault.atMs, () => injectFault(world, fault))),
  ])
  if (servers.plan.faults.some(({ kind }) => kind === 'promote')) await customers.repeatLost()
  return await untilIdle(world)
}

/** Waits until all work is done; returns whether it was within the permitted time. */
async function untilIdle(world: World): Promise<boolean> {
  const { time, customers, members, db } = world
  const sentMs = time.nowMs()
  while (time.nowMs() < Math.max(sentMs, world.faultMs) + IDLE_WITHIN_MS) {
    await time.wait(1_000)
    const hasAll = MEMBERS.every((name) => members.get(name)?.owner.isDead === false)
    if (!hasAll) continue
    const { rows } = await db.pool.query<{ paused: string[]; open: number }>(
      `select array(select id from batches where status = 'paused') as paused,
        (select count(*) from batches where status <> all($1))
          + (select count(*) from credit_unanswered) as open`,
      [ENDED],
    )
    const [state] = rows
    if (state === undefined || state.open === 0) return true
    for (const batch of customers.batches) {
      if (batch.id !== undefined && state.paused.includes(batch.id)) await customers.resume(batch)
    }
  }
  return false
}

/** Finds APIs that no longer answer calls after all faults, as one that waits on a silent connection. */
async function judgeAnswers(world: World): Promise<void> {
  const { time, customers, faultMs, violations, servers } = world
  if (servers.plan.faults.length === 0) return
  const untilMs = Math.max(time.nowMs(), faultMs) + ANSWERS_WITHIN_MS
  for (const call of await customers.callEach(untilMs)) {
    violations.add(`calls of ${call} are not answered after the last fault`)
  }
}

async function sendPlanned(world: World, request: PlannedRequest): Promise<void> {
  note(world, { request })
  const { customers } = world
  switch (request.kind) {
    case 'batch':
      return await customers.submit(request)
    case 'call':
      return await customers.call(request)
    case 'change':
      return await customers.change(request)
  }
}
