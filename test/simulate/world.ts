import { appendFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { grantGoodwill } from '@plumbline/metering/grant'
import { readBalance } from '@plumbline/metering/balance'
import { DEFAULT_ROOM } from '@plumbline/pipeline/task-room'
import type { QueueBackend } from '@plumbline/queue/backend'
import { depth } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import { openRedisQueues } from '@plumbline/queue/redis-queues'
import { createCustomers, type Customers, type SimulatedAccount } from './customers.ts'
import { openDatabaseTime, type DatabaseTime } from './database-time.ts'
import { ENDED, excessInFlight, judge } from './judge.ts'
import { MEMBERS, type Act, type Fault, type MemberName, type Plan } from './plan.ts'
import { killMember, startMember, type Member, type Place, type ReachedApi } from './service.ts'
import { isAtWork } from './at-work.ts'
import { waitReally, type VirtualTime } from './virtual-time.ts'

/** Where the servers of a world are, and what it writes. */
export interface Ground {
  readonly plan: Plan
  /** As the owner of the database, made from the template. */
  readonly ownerUrl: string
  /** As the role that serves. */
  readonly servingUrl: string
  readonly redisUrl: string | undefined
  readonly dataDir: string
  readonly logPath: string
  readonly tracePath: string
}

/** How a world ended. */
export interface Ending {
  readonly faults: readonly string[]
  /** Virtual time that it lasted. */
  readonly lastedMs: number
  readonly batchCount: number
  readonly callCount: number
}

/** How far time goes at once: little while something happens, more the longer all is quiet. */
const STEP_MS = { least: 40, most: 400 }

/** How long after the last event, and the last disturbance, everything must have come to its end. */
const REST_WITHIN_MS = 300_000

/** Time until a process that could not start is started again. */
const RESTART_MS = 1_000

/** Rounds of the clock between two looks at what must hold all the time. */
const LOOK_EVERY = 20

interface World {
  readonly ground: Ground
  readonly time: VirtualTime
  readonly databaseTime: DatabaseTime
  readonly db: Db
  readonly members: Map<MemberName, Member>
  readonly place: Place
  readonly customers: Customers
  /** The queue as nobody's process. */
  readonly queue: QueueBackend | undefined
  readonly broken: Set<string>
  /** When it began, in virtual time. */
  readonly begunMs: number
  hasEnded: boolean
}

/** Runs a plan from its beginning to its rest, and judges it: one after another in a process. */
export async function runWorld(ground: Ground, time: VirtualTime): Promise<Ending> {
  const { plan } = ground
  await using databaseTime = openDatabaseTime(ground.ownerUrl, time.nowMs())
  await using db = openDatabase({
    url: ground.ownerUrl,
    poolSize: 3,
    applicationName: 'simulate',
  })
  await databaseTime.set(time.nowMs())
  const accounts = await openAccounts(db, plan)
  if (ground.redisUrl !== undefined) await keepRedisTime(time, databaseTime)
  const members = new Map<MemberName, Member>()
  const apis = (): readonly ReachedApi[] =>
    [...members.values()].flatMap(({ api, owner }) =>
      api === undefined || owner.isDead ? [] : [api],
    )
  const world: World = {
    ground,
    time,
    databaseTime,
    db,
    members,
    place: placeOf(ground, time, (member, fault) => {
      note(world, { happened: fault, member })
      if (fault === 'lose_commit') for (const { postgres } of members.values()) postgres.cut()
    }),
    customers: createCustomers(time, accounts, { apis, note: (event) => note(world, event) }),
    queue:
      ground.redisUrl === undefined
        ? undefined
        : await openRedisQueues({
            redisUrl: ground.redisUrl,
            prefix: prefixOf(plan),
            onError: () => undefined,
          }),
    broken: new Set(),
    begunMs: time.nowMs(),
    hasEnded: false,
  }
  const passing = passTime(world)
  await Promise.all(
    MEMBERS.map(async (name) => void members.set(name, await startMember(world.place, name))),
  )
  note(world, { began: plan.seed })
  const isAtRest = await live(world)
  const restMs = time.nowMs()
  for (const { postgres } of members.values()) postgres.disarm()
  note(world, {
    ended: isAtRest ? 'at rest' : 'not at rest',
    now: databaseTime.momentOf(time.nowMs()),
  })
  const faults = await judge({ plan, db, time, customers: world.customers, accounts })
  world.hasEnded = true
  await passing
  for (const member of members.values()) killMember(member)
  const { batches, calls } = world.customers
  return {
    faults: [...world.broken, ...faults],
    lastedMs: restMs - world.begunMs,
    batchCount: batches.length,
    callCount: calls.length,
  }
}

/** A Redis serves one world after another, and none meets what is left of the one before. */
function prefixOf({ seed }: Plan): string {
  return `simulation-${seed}`
}

function placeOf(ground: Ground, time: VirtualTime, onFault: Place['onFault']): Place {
  return {
    plan: ground.plan,
    time,
    databaseUrl: ground.servingUrl,
    redisUrl: ground.redisUrl,
    redisPrefix: prefixOf(ground.plan),
    dataDir: ground.dataDir,
    logPath: ground.logPath,
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

/** Redis has no clock that can be set: its answer is given in its place. */
async function keepRedisTime(time: VirtualTime, databaseTime: DatabaseTime): Promise<void> {
  const { Redis } = await import('ioredis')
  Object.defineProperty(Redis.prototype, 'time', {
    configurable: true,
    value: async () => {
      const ms = databaseTime.momentOf(time.nowMs())
      return [String(Math.floor(ms / 1_000)), String(Math.floor((ms % 1_000) * 1_000))]
    },
  })
}

function note(world: World, event: object): void {
  const line = JSON.stringify({ ms: Math.round(world.time.nowMs() - world.begunMs), ...event })
  appendFileSync(world.ground.tracePath, `${line}\n`)
}

/** Lets time pass until the world has ended. */
async function passTime(world: World): Promise<void> {
  const { time, databaseTime, members, db } = world
  let stepMs = STEP_MS.least
  for (let round = 0; !world.hasEnded; round++) {
    await waitReally(1)
    await nextTurn()
    const isBusy = await isAtWork(db, [...members.values()], time.nowMs())
    if (isBusy) {
      stepMs = STEP_MS.least
      continue
    }
    stepMs = Math.min(STEP_MS.most, stepMs * 2)
    const untilMs = time.nowMs() + stepMs
    await databaseTime.set(untilMs)
    time.advanceTo(untilMs)
    if (round % LOOK_EVERY === 0) await look(world)
  }
}

/** What must hold at every moment. */
async function look(world: World): Promise<void> {
  // The workers of a seed are one process, which has the room of one.
  const boundOf = (check: Check): number => DEFAULT_ROOM[check].slots + DEFAULT_ROOM[check].reserve
  const excess = await excessInFlight(world.db, boundOf)
  if (excess !== undefined) world.broken.add(excess)
  if (world.queue === undefined) return
  for (const check of CHECKS) {
    const { waiting } = await depth(world.queue, bulkQueueOf(check)).catch(() => ({ waiting: 0 }))
    // A job that a slow machine took for lost waits once more.
    if (waiting <= 2 * boundOf(check)) continue
    world.broken.add(`the queue of ${check} held more jobs than twice ${boundOf(check)}`)
  }
}

/** Has everything of the plan happen, and waits until all has come to rest; false where it does not. */
async function live(world: World): Promise<boolean> {
  const { time, ground, customers, members, db } = world
  const begunMs = time.nowMs()
  const at = async (ms: number, happens: () => Promise<void>): Promise<void> => {
    await time.wait(begunMs + ms - time.nowMs())
    await happens()
  }
  await Promise.all([
    ...ground.plan.acts.map((act) => at(act.atMs, () => carryOut(world, act))),
    ...ground.plan.faults.map((fault) => at(fault.atMs, () => breakIt(world, fault))),
  ])
  const endMs = time.nowMs() + REST_WITHIN_MS
  while (time.nowMs() < endMs) {
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
    for (const [no, batch] of customers.batches.entries()) {
      if (batch.id === undefined || !state.paused.includes(batch.id)) continue
      await customers.change({ kind: 'change', atMs: 0, batch: no, change: 'resume', again: false })
    }
  }
  return false
}

async function carryOut(world: World, act: Act): Promise<void> {
  note(world, { act })
  const { customers } = world
  switch (act.kind) {
    case 'batch':
      return await customers.submit(act)
    case 'call':
      return await customers.call(act)
    case 'change':
      return await customers.change(act)
  }
}

/** Has a fault happen, and resolves when it is over as far as the plan goes. */
async function breakIt(world: World, fault: Fault): Promise<void> {
  const { time, members } = world
  note(world, { fault })
  const member = 'member' in fault ? members.get(fault.member) : undefined
  switch (fault.kind) {
    case 'kill': {
      if (member === undefined || member.owner.isDead) return
      killMember(member)
      await time.wait(fault.backMs)
      await startAgain(world, fault.member)
      return
    }
    case 'freeze':
      if (member !== undefined) member.owner.frozenUntilMs = time.nowMs() + fault.forMs
      return await time.wait(fault.forMs)
    case 'cut':
      member?.[fault.store]?.cut()
      return
    case 'wire':
      member?.postgres.arm(fault.fault, fault.afterRequests)
      return
    case 'step':
      world.databaseTime.step(fault.byMs)
      return
    case 'empty_queue':
      return await emptyQueue(world)
    case 'double_jobs':
      for (const { stalls } of members.values()) stalls.doubleUntilMs = time.nowMs() + fault.forMs
      return
    case 'stall_storage':
      if (member !== undefined) member.stalls.storageUntilMs = time.nowMs() + fault.forMs
      return await time.wait(fault.forMs)
  }
}

/** Starts a process until it has started, as whoever watches over it does. */
async function startAgain(world: World, name: MemberName): Promise<void> {
  const { time, members, place } = world
  for (;;) {
    try {
      members.set(name, await startMember(place, name))
      note(world, { back: name })
      return
    } catch (error) {
      note(world, { notBack: name, why: String(error) })
      await time.wait(RESTART_MS)
    }
  }
}

async function emptyQueue({ queue, ground }: World): Promise<void> {
  if (queue?.redis !== undefined && queue.redis !== null) {
    await queue.redis.commands.call('FLUSHDB')
    return
  }
  const { losePostgresQueue } = await import('@plumbline/testkit/lose-queue')
  await losePostgresQueue(ground.ownerUrl)
}
