import { createAccount } from '@plumbline/db/accounts'
import {
  closeFinishedBatches,
  isLongStage,
  leaseStages,
  readLapsedStages,
  renewStage,
  returnLapsedStages,
} from '@plumbline/db/batches/stages'
import { depth, recall } from '@plumbline/queue/jobs'
import { expect, test } from 'vitest'
import { leaseDueStages, openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { dispatchOnce } from './dispatch.ts'
import { runFinish } from './finish.ts'
import { runIntake } from './intake-stage.ts'
import { getBatch } from './read.ts'
import { createLongStageLimit } from './long-stage-limit.ts'
import { recheckBatch } from './recheck.ts'
import { rescoreBatch } from './rescore.ts'

const LEASE_MS = 1_000
const { signal } = new AbortController()

/**
 * A batch whose result is still to be written, after this many attempts, its lease expired for this
 * long.
 */
async function openHarness(
  attempts: number,
  overMs: number,
): Promise<TestPipeline & { id: string }> {
  const harness = await openTestPipeline()
  const { db } = harness.pipeline
  const { id } = await harness.read('email\na@b.example\n')
  await harness.answer()
  await closeFinishedBatches(db)
  await db.pool.query(
    `update batches set stage_attempts = $1,
      lease_until = clock_timestamp() - $2::int * interval '1 ms'`,
    [attempts, overMs],
  )
  return { ...harness, id }
}

test.each([
  ['at once after the first', 1, 10, 1],
  ['at once after the second', 2, 10, 1],
  ['not yet after the third', 3, LEASE_MS / 2, 0],
  ['after the third, a lease later', 3, LEASE_MS + 10, 1],
  ['not within 15 leases after the sixth', 6, 14 * LEASE_MS, 0],
  ['within an hour, however often it failed', 1_000, 3_600_000 + 10, 1],
])('a failed stage is tried again %s', async (_, attempts, overMs, count) => {
  await using harness = await openHarness(attempts, overMs)
  expect(await leaseDueStages(harness.pipeline, LEASE_MS)).toHaveLength(count)
})

test('a result that a temporary fault prevented is retried long before its lease would expire', async () => {
  await using harness = await openHarness(0, 10)
  const { pipeline, id } = harness
  const full = {
    ...pipeline,
    storage: { ...pipeline.storage, create: async () => await Promise.reject(new Error('full')) },
  }
  const tryOnce = async (): Promise<void> => {
    const [stage] = await leaseDueStages(pipeline, LEASE_MS)
    const job = { batchId: id, lease: stage?.lease ?? 0 }
    await expect(runFinish(full, job, signal)).rejects.toThrow('full')
  }
  const leaseLeftMs = async (): Promise<number> => {
    const { rows } = await pipeline.db.pool.query<{ rest: number }>(
      'select extract(epoch from lease_until - clock_timestamp())::float8 * 1000 as rest from batches',
    )
    return rows[0]?.rest ?? 0
  }
  for (const isLong of [false, false, true]) {
    await tryOnce()
    expect((await leaseLeftMs()) > pipeline.limits.leaseMs / 2).toBe(isLong)
    await pipeline.db.pool.query(`update batches set lease_until = now() - interval '1 ms'`)
  }
  expect(await leaseDueStages(pipeline, LEASE_MS)).toHaveLength(0)
})

test('a result that could not be written a hundred times is written the next time', async () => {
  await using harness = await openHarness(100, 3_600_000 + 10)
  const { pipeline, owner, id } = harness
  const [stage] = await leaseDueStages(pipeline, LEASE_MS)
  await runFinish(pipeline, { batchId: id, lease: stage?.lease ?? 0 }, signal)
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'completed',
    credits: { used: 1, held: 0 },
  })
})

test('a batch that was canceled before its file could be read fails after as many attempts as another', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit('email\na@b.example\n')
  await cancelBatch(pipeline, owner, id)
  const local = async (): Promise<never> => await Promise.reject(new Error('crashed'))
  const broken = { ...pipeline, storage: { ...pipeline.storage, local } }
  const tryOnce = async (): Promise<void> => {
    await pipeline.db.pool.query('update batches set lease_until = null')
    const [stage] = await leaseDueStages(pipeline, LEASE_MS)
    await runFinish(broken, { batchId: id, lease: stage?.lease ?? 0 }, signal)
  }
  for (let times = 0; times < 6; times++) await expect(tryOnce()).rejects.toThrow('crashed')
  await tryOnce()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('could not be read') },
  })
})

test('a stage that a stopping worker interrupts is leased again at once, its attempt not counted', async () => {
  await using harness = await openHarness(2, 10)
  const { pipeline } = harness
  const [first] = await leaseDueStages(pipeline, LEASE_MS)
  const job = { batchId: harness.id, lease: first?.lease ?? 0 }
  await runFinish(pipeline, job, AbortSignal.abort(new Error('stopping')))
  expect(await leaseStages(pipeline.db, 60_000)).toHaveLength(1)
  const { rows } = await pipeline.db.pool.query('select stage_attempts from batches')
  expect(rows).toEqual([{ stage_attempts: 2 }])
})

test('a batch is read however often its stage was leased and not claimed, as while the queue is down', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit('email\na@b.example\n')
  await recall(pipeline.queue, 'intake', `${id}-1`, true)
  let lease = 1
  for (let times = 0; times < 20; times++) {
    await pipeline.db.pool.query(`update batches set lease_until = now() - interval '1 hour 1 s'`)
    const [stage] = await leaseDueStages(pipeline, LEASE_MS)
    lease = stage?.lease ?? 0
  }
  await runIntake(pipeline, { batchId: id, lease }, signal)
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'running' })
})

test('a batch that crashes its workers fails after six attempts', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit('email\na@b.example\n')
  const dead = { ...pipeline, storage: { ...pipeline.storage, local: async () => never() } }
  let reads = 0
  const never = (): never => {
    reads++
    throw new Error('killed')
  }
  let lease = 1
  while (lease > 0) {
    await runIntake(dead, { batchId: id, lease }, signal).catch(() => undefined)
    await pipeline.db.pool.query(`update batches set lease_until = now() - interval '1 hour 1 s'`)
    const [stage] = await leaseDueStages(pipeline, LEASE_MS)
    lease = stage?.lease ?? 0
  }
  expect(reads).toBe(6)
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'failed' })
})

test('the database rejects a state without a stage', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  const { id } = await harness.read('email\na@b.example\n')
  await expect(
    db.pool.query("update batches set status = 'asleep' where id = $1", [id]),
  ).rejects.toThrow('batches_known_status')
})

/** Rows that make reading the file a long stage. */
const LONG_FILE = `email\n${'someone.with.a.long.name@a.company.example\n'.repeat(4_000)}`

test('long files are read in turn by account, as many at once as there are slots; short ones do not wait', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  const accounts = [harness.owner.accountId]
  for (const email of ['b@b.example', 'c@c.example']) {
    accounts.push((await createAccount(db, { email, plan: 'pro' })).id)
  }
  const [first = '', second = '', third = ''] = accounts
  const submitted: { readonly id: string; readonly accountId: string }[] = []
  for (const accountId of [first, first, first, second, second, third]) {
    submitted.push({ id: (await harness.submit(LONG_FILE, { accountId })).id, accountId })
  }
  const short = await harness.submit('email\na@b.example\n', { accountId: first })
  // As if no worker had a lease: the first submitted batch of each account has one for its job.
  await db.pool.query('update batches set lease_until = null')
  const ownersOf = async (free: number): Promise<readonly (string | undefined)[]> =>
    (await leaseStages(db, 60_000, free))
      .filter(({ batchId }) => batchId !== short.id)
      .map(({ batchId }) => submitted.find(({ id }) => id === batchId)?.accountId)
  const leased = await ownersOf(4)
  expect(leased.toSorted()).toEqual([first, first, second, third].toSorted())
  expect(await ownersOf(4)).toEqual([])
  expect(await ownersOf(5)).toEqual([second])
  const { rows } = await db.pool.query<{ leased: boolean }>(
    'select lease_until is not null as leased from batches where id = $1',
    [short.id],
  )
  expect(rows).toEqual([{ leased: true }])
})

test("an account's second long file waits for its turn, and a job beyond a worker's slots is returned", async () => {
  await using harness = await openTestPipeline()
  const { pipeline, submit } = harness
  const { db } = pipeline
  const [long, waiting, short] = [
    await submit(LONG_FILE),
    await submit(LONG_FILE),
    await submit('email\na@b.example\n'),
  ]
  const { rows } = await db.pool.query<{ id: string }>(
    'select id from batches where lease_until is null',
  )
  expect(rows).toEqual([{ id: waiting.id }])
  const limit = createLongStageLimit(db, 1)
  const ran: string[] = []
  const runs = async ({ id }: { id: string }, run = async (): Promise<void> => undefined) =>
    await limit({ batchId: id, lease: 1 }, async () => {
      ran.push(id)
      await run()
    })
  await runs(long, async () => {
    await runs(short)
    await runs(long)
  })
  expect(ran).toEqual([long.id, short.id])
  // Once returned, it is leased again.
  const leased = await leaseStages(db, 60_000)
  expect(leased.map(({ batchId }) => batchId).toSorted()).toEqual([long.id, waiting.id].toSorted())
})

test('a recheck and a rescore of a large batch are long stages, also once canceled, and are read in turn', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { db } = pipeline
  const { id } = await harness.read('ip\n192.0.2.1\n', { product: 'ip' })
  await harness.answer()
  await closeFinishedBatches(db)
  await harness.workStages()
  const isLong = async (of: { id: string }): Promise<boolean> => await isLongStage(db, of.id)
  const short = await rescoreBatch(pipeline, owner, id, {})
  expect(await isLong(short)).toBe(false)
  await db.pool.query('delete from batches where id = $1', [short.id])
  await db.pool.query('update batches set rows_total = 10001 where id = $1', [id])
  const first = await recheckBatch(pipeline, owner, id, { start: false, chargeUnknown: true })
  const second = await rescoreBatch(pipeline, owner, id, {})
  expect([await isLong(first), await isLong(second)]).toEqual([true, true])
  const { rows } = await db.pool.query(
    'select id from batches where lease_until is null and id = any($1)',
    [[first.id, second.id]],
  )
  expect(rows, 'the second waits for its turn').toEqual([{ id: second.id }])
  await cancelBatch(pipeline, owner, second.id)
  expect(await isLong(second), 'its rows are still to be read').toBe(true)
})

test('short files are read in turn by account, too', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  const other = await createAccount(db, { email: 'b@b.example', plan: 'pro' })
  const names = new Map<string, string>()
  const submit = async (name: string, accountId?: string): Promise<void> => {
    const owned = accountId === undefined ? {} : { accountId }
    names.set((await harness.submit('email\na@b.example\n', owned)).id, name)
  }
  for (const name of ['first', 'second', 'third']) await submit(name)
  await submit('other', other.id)
  await db.pool.query('update batches set lease_until = null')
  const order = async (): Promise<readonly unknown[]> =>
    (await leaseStages(db, 60_000)).map(({ batchId }) => names.get(batchId))
  expect(await order()).toEqual(['first', 'other', 'second', 'third'])
  await db.pool.query('update batches set lease_until = null where id <> $1', [
    [...names.keys()][0],
  ])
  expect(await order()).toEqual(['other', 'second', 'third'])
})

test('a stage whose job waits in its queue is not enqueued again; one whose job is lost is', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, submit } = harness
  const { id } = await submit('email\na@b.example\n')
  const lapse = async (): Promise<void> => {
    await pipeline.db.pool.query(`update batches set lease_until = now() - interval '1 s'`)
    await dispatchOnce(pipeline)
  }
  const waiting = async (): Promise<number> => (await depth(pipeline.queue, 'intake')).waiting
  const before = await waiting()
  for (let times = 0; times < 3; times += 1) await lapse()
  expect(await waiting()).toBe(before)
  expect(await recall(pipeline.queue, 'intake', `${id}-1`, true)).toBe('lost')
  await lapse()
  expect(await recall(pipeline.queue, 'intake', `${id}-2`, false)).toBe('waiting')
})

test('of more stages than one round looks at, none is enqueued a second time while its job waits', async () => {
  const count = 120
  await using harness = await openTestPipeline({ limits: { unfinishedBatches: count } })
  const { pipeline, submit } = harness
  for (let no = 0; no < count; no += 1) await submit('email\na@b.example\n')
  const { pool } = pipeline.db
  await pool.query(`update batches set lease_until = now() - interval '1 s'`)
  const lapsed = async (): Promise<number> =>
    (await pool.query('select from batches where lease_until < now()')).rowCount ?? 0
  for (let left = count, rounds = 0; left > 0; left = await lapsed(), rounds += 1) {
    expect(rounds).toBeLessThan(10)
    await dispatchOnce(pipeline)
  }
  expect(await depth(pipeline.queue, 'intake')).toMatchObject({ waiting: count })
  expect((await pool.query('select from batches where lease > 1')).rowCount).toBe(0)
})

test('a lease that its worker renews after it was found lapsed is not given up', async () => {
  await using harness = await openHarness(1, 10)
  const { db } = harness.pipeline
  await db.pool.query(`update batches set lease_until = now() - interval '1 ms'`)
  const [lapsed] = await readLapsedStages(db, LEASE_MS)
  if (lapsed === undefined) throw new Error('no lease is lapsed')
  expect(await renewStage(db, lapsed, LEASE_MS)).toBe(true)
  await returnLapsedStages(db, [lapsed])
  expect(await leaseStages(db, LEASE_MS)).toEqual([])
})
