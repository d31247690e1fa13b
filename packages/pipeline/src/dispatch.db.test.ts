import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { claimTask } from '@plumbline/db/batches/tasks'
import type { Db, DbSession } from '@plumbline/db/database'
import { isTemporary } from '@plumbline/db/retry'
import { storeHeartbeat, deleteWorkerReport, reportWorker } from '@plumbline/db/workers'
import { depth } from '@plumbline/queue/jobs'
import { describe, expect, test, vi } from 'vitest'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { PATIENT } from '@plumbline/testkit/patience'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { startWorker } from '@plumbline/testkit/queue-harness'
import { cancelBatch } from './cancel.ts'
import { dispatchOnce, newDispatcherState, runDispatcher } from './dispatch.ts'
import type { Pipeline } from './pipeline.ts'
import { startBatch } from './start.ts'
import { createTaskLeases } from './task-lease.ts'
import { testRedisUrl } from '@plumbline/testkit/backends'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const redisUrl = testRedisUrl()

test.skipIf(WITHOUT_REDIS)(
  'tasks of a new database are dispatched at once, whatever jobs the queue still has from an old one',
  async () => {
    const redis = { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` }
    for (const waiting of [1, 2]) {
      await using harness = await openTestPipeline({ redis })
      const { pipeline } = harness
      expect(await harness.read('email\nada@example.com\n')).toMatchObject({ status: 'running' })
      await dispatchOnce(pipeline)
      expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting })
    }
  },
)

const NONE = { slots: 0, reserve: 0 }
const FEW_SLOTS = { email: { slots: 2, reserve: 1 }, phone: NONE, ip: NONE, domain: NONE }

/** Milliseconds for which a worker started by a test locks its jobs. */
const LOCK_MS = 500

/** Expires leases that no worker has claimed. */
const LATER = `update tasks set lease_until = now() - interval '1 s' where lease_until is not null`

/** Claims the tasks whose jobs a worker has taken from the queue. */
async function claimTaken({ db, queue, limits }: Pipeline): Promise<void> {
  const { rows } = await db.pool.query<{ id: number; batch: string; lease: number }>(
    'select id, batch_id as batch, lease from tasks where lease_until is not null',
  )
  const producer = await queue.producer('bulk-email')
  for (const { id, batch, lease } of rows) {
    if ((await producer.state(`${batch}-${id}-${lease}`)) !== 'active') continue
    expect(await claimTask(db, { taskId: id, lease }, limits.leaseMs)).toBeDefined()
  }
}

const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, no) => `u${no}@example.com\n`).join('')

const BACKENDS = [
  { name: 'Postgres', inRedis: false },
  ...(WITHOUT_REDIS ? [] : [{ name: 'Redis', inRedis: true }]),
]

describe.each(BACKENDS)('on $name, with the workers away', ({ inRedis }) => {
  const options = (): Parameters<typeof openTestPipeline>[0] => ({
    limits: { leaseMs: 50, chunkRecords: 1 },
    capacity: FEW_SLOTS,
    ...(inRedis
      ? { redis: { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` } }
      : {}),
  })
  const content = `email\n${rowsOf(20)}`

  test('a task is not dispatched again while its job waits, and at once if the queue lost the job', async () => {
    await using harness = await openTestPipeline(options())
    const { pipeline } = harness
    await harness.read(content)
    const state = newDispatcherState()
    for (let round = 0; round < 10; round++) {
      await dispatchOnce(pipeline, true, state)
      await pipeline.db.pool.query(LATER)
      state.doneMs.recall = -Infinity
    }
    expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting: 2 })
    const first = await pipeline.db.pool.query(
      'select lease from tasks where lease_until is not null',
    )
    expect(first.rows).toEqual([{ lease: 1 }, { lease: 1 }])
    const producer = await pipeline.queue.producer('bulk-email')
    const held = await pipeline.db.pool.query<{ id: string }>(
      `select batch_id || '-' || id || '-' || lease as id from tasks where lease_until is not null`,
    )
    for (const { id } of held.rows) await producer.remove(id)
    await pipeline.db.pool.query(LATER)
    state.doneMs.recall = -Infinity
    await dispatchOnce(pipeline, true, state)
    await dispatchOnce(pipeline, true, state)
    expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting: 2 })
  })

  test.for(['killed', 'hung'])('a task of a %s worker is dispatched again', async (fate) => {
    const redis = { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` }
    await using harness = await openTestPipeline({ ...options(), ...(inRedis ? { redis } : {}) })
    const { pipeline } = harness
    const { db, queue } = pipeline
    await harness.read(`email\n${rowsOf(2)}`)
    const state = newDispatcherState()
    const dispatch = async (): Promise<void> => {
      state.doneMs.recall = -Infinity
      await dispatchOnce(pipeline, true, state)
    }
    await dispatch()
    const server = inRedis ? [redis.url, redis.prefix] : [harness.databaseUrl]
    await using worker = await startWorker(['hold', ...server])
    await worker.receives('taken')
    await claimTaken(pipeline)
    await db.pool.query(LATER)
    await dispatch()
    await dispatch()
    expect(state.held.size).toBe(1)
    expect(await depth(queue, 'bulk-email')).toEqual({ waiting: 1, active: 1 })
    if (fate === 'killed') await worker.kill()
    else for (const task of state.held.keys()) state.held.set(task, -Infinity)
    await expect
      .poll(async () => {
        await dispatch()
        return await depth(queue, 'bulk-email')
      })
      .toEqual({ waiting: 2, active: fate === 'killed' ? 0 : 1 })
    expect(state.held.size).toBe(0)
  })

  test('the queue holds no more jobs than slots while claims of a killed worker are lost', async () => {
    const redis = { url: redisUrl ?? '', prefix: `test-${randomBytes(6).toString('hex')}` }
    await using harness = await openTestPipeline({ ...options(), ...(inRedis ? { redis } : {}) })
    const { pipeline } = harness
    const { db, queue } = pipeline
    await harness.read(content)
    const state = newDispatcherState()
    await dispatchOnce(pipeline, true, state)
    const server = inRedis ? [redis.url, redis.prefix] : [harness.databaseUrl]
    await using worker = await startWorker(['hold', ...server])
    await worker.receives('taken')
    await claimTaken(pipeline)
    await worker.kill()
    await wait(LOCK_MS * 2)
    await db.pool.query(LATER)
    const counts: unknown[] = []
    for (let round = 0; round < 3; round++) {
      await dispatchOnce(pipeline, true, state)
      counts.push(await depth(queue, 'bulk-email'))
    }
    expect(counts).toEqual([
      { waiting: 1, active: 0 },
      { waiting: 2, active: 0 },
      { waiting: 2, active: 0 },
    ])
  })

  test('jobs of canceled batches are removed, however many batches are canceled', async () => {
    await using harness = await openTestPipeline(options())
    const { pipeline, owner } = harness
    for (let times = 0; times < 4; times++) {
      const { id } = await harness.read(content)
      const state = newDispatcherState()
      await dispatchOnce(pipeline, true, state)
      expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting: 2 })
      await cancelBatch(pipeline, owner, id)
      state.doneMs.recall = -Infinity
      await dispatchOnce(pipeline, true, state)
      expect(await depth(pipeline.queue, 'bulk-email')).toMatchObject({ waiting: 0 })
    }
  })
})

test('leased tasks follow the capacity of the workers: none without a worker, and more with each that joins', async () => {
  await using harness = await openTestPipeline({
    limits: { chunkRecords: 1 },
    capacity: { email: NONE, phone: NONE, ip: NONE, domain: NONE },
  })
  const { pipeline } = harness
  const { db, queue } = pipeline
  await harness.read(`email\n${rowsOf(20)}`)
  /** Waits until this many tasks are leased, while these workers send heartbeats. */
  const untilOut = async (count: number, ...workers: readonly string[]): Promise<void> => {
    await vi.waitFor(async () => {
      for (const name of workers) await storeHeartbeat(db, name)
      expect((await depth(queue, 'bulk-email')).waiting).toBe(count)
    }, PATIENT)
  }
  const stop = new AbortController()
  const dispatching = runDispatcher(pipeline, stop.signal)
  const capacity = { slots: 4, reserve: 1 }
  try {
    await reportWorker(db, { name: 'a', kind: 'email', health: [], capacity })
    await untilOut(4, 'a')
    await reportWorker(db, { name: 'b', kind: 'email', health: [], capacity })
    await untilOut(8, 'a', 'b')
    await deleteWorkerReport(db, 'b')
    await reportWorker(db, { name: 'c', kind: 'email', health: [], capacity })
    await reportWorker(db, { name: 'd', kind: 'email', health: [], capacity })
    await untilOut(12, 'a', 'c', 'd')
  } finally {
    stop.abort()
    await dispatching
  }
})

test('the start of a large batch is reported, and that of a small one is not', async () => {
  await using harness = await openTestPipeline({
    limits: { chunkRecords: 1 },
    capacity: FEW_SLOTS,
  })
  const { pipeline, owner } = harness
  const state = newDispatcherState()
  let told = 0
  const round = async (): Promise<number> => {
    await dispatchOnce(pipeline, true, state, () => told++)
    return told
  }
  const start = async (rows: number): Promise<void> => {
    const { id } = await harness.read(`email\n${rowsOf(rows)}`, { autoStart: false })
    await startBatch(pipeline, owner, id)
  }
  await start(2)
  expect(await round()).toBe(0)
  await start(20)
  expect(await round()).toBe(1)
  expect(await round()).toBe(1)
})

test('the dispatcher pauses until a task is due, but not while one is leased', async () => {
  await using harness = await openTestPipeline({ capacity: FEW_SLOTS })
  const { pipeline } = harness
  const { pool } = pipeline.db
  await harness.read('email\nada@example.com\n')
  await allowAnyTransition(pipeline.db)
  const state = newDispatcherState()
  const quietMs = async (): Promise<number> => {
    expect(await dispatchOnce(pipeline, true, state)).toBe('waiting')
    return state.quietMs
  }
  const wait = `update tasks set lease_until = null, due_at = now() + interval '1 hour'`
  await pool.query(wait)
  expect(await quietMs()).toBeGreaterThan(3_000_000)
  expect(await quietMs()).toBeLessThanOrEqual(3_600_000)
  await pool.query(`${wait}, group_key = 'mx:a'`)
  expect(await quietMs()).toBe(Infinity)
  await pool.query(`insert into task_groups values ('email', 'mx:a', now() + interval '2 hours')`)
  expect(await quietMs()).toBeGreaterThan(6_000_000)
  // A group that is due as far as known, but has no due task, is read at once and then skipped.
  await pool.query('update task_groups set next_at = now()')
  expect(await quietMs()).toBe(0)
  expect(await quietMs()).toBeGreaterThan(0)
  await pool.query(`update task_groups set opened = true, quiet_until = '-infinity'`)
  expect(await quietMs()).toBe(0)
  await pool.query(`update tasks set group_key = null, due_at = null`)
  await dispatchOnce(pipeline, true, state)
  expect((await pool.query('select from tasks where lease_until is not null')).rowCount).toBe(1)
  expect(await quietMs()).toBe(0)
})

test('one of two dispatchers leases tasks, and the other takes over when it is silent', async () => {
  await using harness = await openTestPipeline()
  const { pipeline } = harness
  const [first, second] = [new AbortController(), new AbortController()]
  const lost = { ...pipeline, db: { ...pipeline.db } }
  const loops = [runDispatcher(lost, first.signal)]
  const holder = async (): Promise<unknown> =>
    (await pipeline.db.pool.query('select holder from duties')).rows[0]
  await vi.waitFor(async () => expect(await holder()).toBeDefined(), PATIENT)
  const before = await holder()
  loops.push(runDispatcher(pipeline, second.signal))
  // Its connections are gone, so it cannot release the duty.
  lost.db.pool = new Proxy(pipeline.db.pool, { get: () => () => Promise.reject(new Error('lost')) })
  const silentMs = performance.now()
  await vi.waitFor(async () => expect(await holder()).not.toEqual(before), PATIENT)
  expect(performance.now() - silentMs).toBeLessThan(5_000)
  first.abort()
  second.abort()
  await Promise.all(loops)
  expect(await holder()).toBeUndefined()
})

/** A database whose leases of tasks wait before their commit; `stands` resolves when one does. */
function standingStill(db: Db, goOn: Promise<void>): { readonly db: Db; stands: Promise<void> } {
  const stands = Promise.withResolvers<void>()
  const connect = async (): Promise<DbSession> => {
    const client = await db.pool.connect()
    const query = async (...args: readonly unknown[]): Promise<unknown> => {
      if (args[0] === 'commit') {
        stands.resolve()
        await goOn
      }
      return await Reflect.apply<unknown, readonly unknown[], unknown>(client.query, client, args)
    }
    return replacing(client, { query, release: client.release.bind(client) })
  }
  const query = db.pool.query.bind(db.pool)
  return { db: { ...db, pool: replacing(db.pool, { connect, query }) }, stands: stands.promise }
}

/** An object of which some methods are replaced. */
function replacing<T extends object>(object: T, methods: Readonly<Record<string, unknown>>): T {
  return new Proxy(object, {
    get: (target, name) => Reflect.get(name in methods ? methods : target, name),
  })
}

test('when a dispatcher stands still within a round, another goes on within seconds, and the first waits for its turn', async () => {
  await using harness = await openTestPipeline()
  const { db, log } = harness.pipeline
  await harness.read('email\nada@example.com\n')
  const resumed = Promise.withResolvers<void>()
  const still = standingStill(db, resumed.promise)
  const warned: unknown[] = []
  const warn = (details: object): void => void warned.push('err' in details && details.err)
  const [first, second] = [new AbortController(), new AbortController()]
  const pipeline = { ...harness.pipeline, db: still.db, log: { ...log, warn } }
  const loops = [runDispatcher(pipeline, first.signal)]
  const valueOf = async (query: string): Promise<unknown> =>
    (await db.pool.query<{ value: unknown }>(query)).rows[0]?.value
  const holder = (): Promise<unknown> => valueOf('select holder as value from duties')
  try {
    await still.stands
    const [stoodMs, before] = [performance.now(), await holder()]
    loops.push(runDispatcher(harness.pipeline, second.signal))
    await expect.poll(() => valueOf('select lease as value from tasks'), PATIENT).toBe(1)
    // Four seconds, unless the machine is loaded; other transactions may stand still for a minute.
    expect(performance.now() - stoodMs).toBeLessThan(20_000)
    expect(await holder()).not.toBe(before)
    resumed.resolve()
    await expect.poll(() => warned.length, PATIENT).toBe(1)
    expect(isTemporary(warned[0])).toBe(true)
    second.abort()
    await expect.poll(holder, PATIENT).toBe(before)
    expect(warned).toHaveLength(1)
  } finally {
    resumed.resolve()
    first.abort()
    second.abort()
    await Promise.all(loops)
  }
})

/** The pipeline with connections of its own, which can be lost and found again. */
function losable(pipeline: Pipeline): {
  readonly pipeline: Pipeline
  lose(): void
  find(): void
} {
  const db = { ...pipeline.db }
  const refuse = () => Promise.reject(new Error('Connection terminated'))
  return {
    pipeline: { ...pipeline, db },
    lose: () => void (db.pool = new Proxy(pipeline.db.pool, { get: () => refuse })),
    find: () => void (db.pool = pipeline.db.pool),
  }
}

type Losable = ReturnType<typeof losable>

/** Loses all connections of the dispatcher; returns how they are found again. */
async function loseConnections(dispatcher: Losable): Promise<() => Promise<void>> {
  dispatcher.lose()
  return async () => dispatcher.find()
}

/** Locks the dispatcher's duty, for which it waits; returns how the lock is released after its term. */
async function lockDuty(_: Losable, db: Db): Promise<() => Promise<void>> {
  const client = await db.pool.connect()
  const isHeld = `select held_until > clock_timestamp() as held from duties where name = 'dispatch'`
  await client.query(`begin; ${isHeld} for update`)
  return async () => {
    await expect
      .poll(async () => (await db.pool.query<{ held: boolean }>(isHeld)).rows[0]?.held, PATIENT)
      .toBe(false)
    await client.query('commit')
    client.release()
  }
}

test.each([
  { name: 'an outage', halt: loseConnections },
  { name: 'a standstill', halt: lockDuty },
])(
  'after $name longer than a lease a task stays with its worker; that of a dead one is dispatched again',
  async ({ halt }) => {
    await using harness = await openTestPipeline({
      limits: { chunkRecords: 1, leaseMs: 2_000 },
      capacity: FEW_SLOTS,
    })
    const { db, limits } = harness.pipeline
    await harness.read(`email\n${rowsOf(2)}`)
    const slots = { email: 2, phone: 0, ip: 0, domain: 0 }
    const claimed = []
    for (const task of await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })) {
      claimed.push(await claimTask(db, task, limits.leaseMs))
    }
    const [live, dead] = claimed
    if (live === undefined || dead === undefined) throw new Error('a task was not claimed')
    const rowOf = async (id: number): Promise<{ lease: number; lapsed: boolean | null }> => {
      const { rows } = await db.pool.query<{ lease: number; lapsed: boolean | null }>(
        'select lease, lease_until < clock_timestamp() as lapsed from tasks where id = $1',
        [id],
      )
      return rows[0] ?? { lease: 0, lapsed: null }
    }
    const [dispatcher, worker] = [losable(harness.pipeline), losable(harness.pipeline)]
    using leases = createTaskLeases(worker.pipeline)
    using lease = leases.keep(live)
    const stop = new AbortController()
    let roundCount = 0
    const dispatching = runDispatcher(dispatcher.pipeline, stop.signal, {
      onRound: () => (roundCount += 1),
    })
    try {
      await expect
        .poll(async () => (await rowOf(dead.taskId)).lease, PATIENT)
        .toBeGreaterThan(dead.lease)
      const goOn = await halt(dispatcher, db)
      worker.lose()
      await expect.poll(async () => (await rowOf(live.taskId)).lapsed, PATIENT).toBe(true)
      const before = roundCount
      await goOn()
      await expect.poll(() => roundCount, PATIENT).toBeGreaterThan(before + 1)
      worker.find()
      await expect.poll(async () => (await rowOf(live.taskId)).lapsed, PATIENT).toBe(false)
      expect((await rowOf(live.taskId)).lease).toBe(live.lease)
      expect(lease.lost.aborted).toBe(false)
    } finally {
      stop.abort()
      await dispatching
    }
  },
)

test.each([
  {
    name: 'a batch that is being canceled',
    before: 'select',
    held: 'delete from tasks where batch_id = $1',
  },
  {
    name: 'a task that hangs until its lease is over',
    before: `update tasks set lease_until = now() - interval '1 s'`,
    held: 'delete from tasks where batch_id = $1',
  },
  {
    name: 'a task that puts more into a group',
    before: `
      with made as (insert into task_groups values ('email', 'mx:a', now()))
      update tasks set group_key = 'mx:a', due_at = now()`,
    held: `
      update task_groups g set next_at = now() from tasks t
      where t.batch_id = $1 and t.group_key = g.group_key`,
  },
])('$name does not hold up other batches', async ({ before, held }) => {
  await using harness = await openTestPipeline()
  const { pool } = harness.pipeline.db
  const { id } = await harness.read('email\nada@example.com\n')
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(before)
  const other = await harness.read('email\ngrace@example.com\n')
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(held, [id])
    const slots = { email: 10, phone: 0, ip: 0, domain: 0 }
    const leased = await leaseTasks(harness.pipeline.db, { slots, reserve: 0, leaseMs: 60_000 })
    expect(leased.map(({ batchId }) => batchId)).toContain(other.id)
  } finally {
    client.release(true)
  }
})
