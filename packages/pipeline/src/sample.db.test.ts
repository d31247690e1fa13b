import type { Answer } from '@plumbline/ports/engine'
import { batchSample } from '@plumbline/contract/batch-sample'
import type { Check } from '@plumbline/contract/products'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { readBalance } from '@plumbline/metering/balance'
import { readLedger } from '@plumbline/metering/ledger'
import { readUsage } from '@plumbline/metering/usage'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test, vi } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { changeBatch } from './change.ts'
import { drawOrdinals } from './draw-sample.ts'
import { deleteBatch } from './erase.ts'
import { getBatch, listBatches } from './read.ts'
import { resultsText } from './results-fixture.ts'
import { runTask, type CheckRunner } from './run-task.ts'
import { endOverdueSamples, readSample, sampleBatch } from './sample.ts'
import { sharesOf } from './sample-view.ts'
import { makeTasks, startBatch } from './start.ts'
import { createTaskLeases } from './task-lease.ts'

interface Harness extends TestPipeline {
  readonly id: string
  /** Every subject that was passed to an engine, in order. */
  readonly asked: string[]
}

/** @param isSecond whether there is another batch, whose first chunk has other rows */
async function openHarness(
  rows: number,
  product: 'email' | 'contact-intel' = 'email',
  isSecond = false,
) {
  const harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  if (isSecond) await harness.read('email,phone\n,+14155550000\n', { autoStart: false, product })
  const lines = Array.from({ length: rows }, (_, no) => {
    const phone = no % 3 === 0 ? `+1415555${String(1000 + no)}` : ''
    return `u${no}@${no % 5 === 4 ? 'grey' : 'a'}.example,${phone}`
  })
  const { id } = await harness.read(
    `email,phone\n${lines.join('\n')}\n\n${lines[0]}\n,+14155559999\n`,
    {
      autoStart: false,
      product,
    },
  )
  return { ...harness, id, asked: [] as string[] } satisfies Harness
}

/** Runs all dispatched tasks; subjects that contain the word wait. */
async function answer(harness: Harness, waits = 'nobody', checks: Check[] = ['email', 'phone']) {
  const { pipeline } = harness
  const slots = { email: 0, phone: 0, ip: 0, domain: 0 }
  for (const check of checks) slots[check] = 100
  using leases = createTaskLeases(pipeline)
  for (;;) {
    while (await makeTasks(pipeline.db)) {
      // A large batch creates its tasks in steps.
    }
    const { leaseMs } = pipeline.limits
    const tasks = await leaseTasks(pipeline.db, { slots, reserve: 0, leaseMs })
    if (tasks.length === 0) return
    for (const task of tasks) {
      const run = async ({ subjects }: { subjects: readonly string[] }): Promise<Answer[]> => {
        harness.asked.push(...subjects.filter((subject) => !subject.includes(waits)))
        return subjects.map((subject) =>
          subject.includes(waits)
            ? { kind: 'later', afterMs: 9e6, group: 'mx:x', isOwnWait: true, reason: 'greylisted' }
            : outcomeFor(task.check, subject),
        )
      }
      await runTask(pipeline, leases, () => ({ run }), task, new AbortController().signal)
    }
  }
}

/** Runs all dispatched tasks of a check, none of which gets an outcome. */
async function fail({ pipeline }: Harness, check: Check): Promise<void> {
  using leases = createTaskLeases(pipeline)
  const slots = { email: 0, phone: 0, ip: 0, domain: 0, [check]: 100 }
  const { leaseMs } = pipeline.limits
  for (const task of await leaseTasks(pipeline.db, { slots, reserve: 0, leaseMs })) {
    const run: CheckRunner['run'] = async ({ subjects }) =>
      subjects.map(() => ({ kind: 'failed' }) as const)
    await runTask(pipeline, leases, () => ({ run }), task, new AbortController().signal)
  }
}

async function endStages({ pipeline, workStages }: TestPipeline): Promise<void> {
  await closeFinishedBatches(pipeline.db)
  await pipeline.db.pool.query('update batches set lease_until = null')
  await workStages()
}

async function viewOf({ pipeline, owner, id }: Harness) {
  return await getBatch(pipeline, owner, id)
}

async function sampleOf({ pipeline, owner, id }: Harness) {
  return batchSample.parse(await readSample(pipeline, owner, id))
}

async function chunksOfOthers({ pipeline, id }: Harness): Promise<readonly unknown[]> {
  const { rows } = await pipeline.db.pool.query<object>(
    `select c.* from chunks c join batches b on b.id = c.batch_id
     where b.id <> $1 and b.sample_of is null`,
    [id],
  )
  return rows
}

async function spent({ pipeline, owner }: Harness): Promise<number> {
  expect(await auditLedger(pipeline.db)).toEqual([])
  const balance = await readBalance(pipeline.db, owner.accountId)
  return 25_000 - (balance?.available ?? 0) - (balance?.held ?? 0)
}

test.each([
  ['email', 200, 50],
  ['email', 20, 20],
  ['contact-intel', 200, 50],
  ['contact-intel', 9, 9],
] as const)(
  'a sample of %s with %i rows is charged, and neither asked nor charged again',
  async (product, rows, drawn) => {
    await using harness = await openHarness(rows, product, true)
    const { pipeline, owner, id } = harness
    const { credits: before } = await viewOf(harness)
    const others = await chunksOfOthers(harness)
    const begun = await sampleBatch(pipeline, owner, id)
    expect(begun).toMatchObject({ status: 'running', rows: { drawn, known: 0 }, expected: null })
    await expect(startBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
    await expect(sampleBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
    await expect(deleteBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
    await answer(harness)
    // All outcomes are known, but not yet copied to the batch, which cannot be started now.
    expect(await sampleOf(harness)).toMatchObject({ status: 'running', rows: { known: drawn } })
    await endStages(harness)
    const sample = await sampleOf(harness)
    expect(sample).toMatchObject({ status: 'completed', rows: { drawn, known: drawn } })
    expect(sample.shares.reduce((sum, { count }) => sum + count, 0)).toBe(drawn)
    expect(sample.expected?.credits).toBe(before.estimate)
    expect(sample.credits_used).toBeGreaterThanOrEqual(drawn)
    expect(await spent(harness)).toBe(sample.credits_used)
    expect((await viewOf(harness)).credits).toEqual({
      estimate: before.estimate,
      held: 0,
      used: sample.credits_used,
      released: 0,
    })
    const running = await startBatch(pipeline, owner, id)
    expect(running.credits.held).toBe(before.estimate - sample.credits_used)
    await answer(harness)
    await endStages(harness)
    expect(harness.asked.length).toBe(new Set(harness.asked).size)
    const view = await viewOf(harness)
    expect(view).toMatchObject({
      status: 'completed',
      rows: { done: rows + 3, billable: rows },
      credits: { estimate: before.estimate, held: 0, used: before.estimate, released: 0 },
    })
    expect(Object.values(view.verdicts).reduce((sum, count) => sum + count, 0)).toBe(rows)
    expect(await spent(harness)).toBe(before.estimate)
    const used = await readUsage(pipeline.db, owner.accountId, { from: null, to: null, by: [] })
    expect(used?.total).toEqual({ operations: rows, credits: before.estimate })
    const page = await listBatches(pipeline, owner, { limit: 10, cursor: undefined })
    expect(page.data.map((batch) => batch.id)).toEqual([id, expect.any(String)])
    expect(await chunksOfOthers(harness)).toEqual(others)
  },
)

test('subjects without an outcome when the time is over count as unknown, are not charged, and are checked by the batch', async () => {
  await using harness = await openHarness(60, 'contact-intel')
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness, 'grey')
  const early = await sampleOf(harness)
  expect(early.status).toBe('running')
  expect(early.rows.known).toBeLessThan(50)
  await endOverdueSamples(pipeline)
  expect((await sampleOf(harness)).status).toBe('running')
  await pipeline.db.pool.query(
    `update batches set created_at = created_at - interval '61 s' where sample_of is not null`,
  )
  await endOverdueSamples(pipeline)
  await endStages(harness)
  const sample = await sampleOf(harness)
  const unknown = sample.shares.find(({ verdict }) => verdict === 'unknown')
  expect(sample).toMatchObject({ status: 'completed', rows: early.rows })
  expect(unknown?.count).toBeGreaterThanOrEqual(50 - early.rows.known)
  expect(await spent(harness)).toBe(sample.credits_used)
  const { credits } = await startBatch(pipeline, owner, id)
  expect(credits.held).toBe(credits.estimate - sample.credits_used)
  await answer(harness)
  await endStages(harness)
  expect(harness.asked.length).toBe(new Set(harness.asked).size)
  expect((await viewOf(harness)).credits).toMatchObject({ used: credits.estimate, released: 0 })
  expect(await spent(harness)).toBe(credits.estimate)
})

test('a sample that began before the clock went back by days ends nevertheless', async () => {
  await using harness = await openHarness(9)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness, 'grey')
  await pipeline.db.pool.query(
    `update batches set created_at = created_at + interval '2 days' where sample_of is not null`,
  )
  await endOverdueSamples(pipeline)
  await endStages(harness)
  expect((await sampleOf(harness)).status).toBe('completed')
})

test.each(['before', 'after'])(
  'a change %s the end of a sample voids it; its charge stays and is shown',
  async (when) => {
    await using harness = await openHarness(60)
    const { pipeline, owner, id } = harness
    await sampleBatch(pipeline, owner, id)
    await answer(harness, 'grey')
    if (when === 'after') {
      await pipeline.db.pool.query(`update batches set created_at = created_at - interval '61 s'`)
      await endOverdueSamples(pipeline)
      await endStages(harness)
    }
    await changeBatch(pipeline, owner, id, { product: 'phone', default_country: 'US' })
    await endStages(harness)
    await endStages(harness)
    await expect(readSample(pipeline, owner, id)).rejects.toMatchObject({ code: 'not_found' })
    const charged = await spent(harness)
    expect(charged).toBeGreaterThan(0)
    const { credits, status } = await viewOf(harness)
    expect([status, credits.used]).toEqual(['ready', charged])
    // Another sample can be drawn, and the batch runs as if there had been none.
    await sampleBatch(pipeline, owner, id)
    await answer(harness)
    await endStages(harness)
    await startBatch(pipeline, owner, id)
    await answer(harness)
    await endStages(harness)
    const ended = await viewOf(harness)
    expect(ended.credits.used).toBe(charged + ended.credits.estimate)
    expect(await spent(harness)).toBe(ended.credits.used)
  },
)

test('responses to a change of the name and to the start show what a sample has stored', async () => {
  await using harness = await openHarness(60)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness)
  await endStages(harness)
  const sampled = await viewOf(harness)
  expect(sampled.credits.used).toBe(50)
  const renamed = await changeBatch(pipeline, owner, id, { name: 'Spring' })
  expect(renamed).toEqual({ ...sampled, name: 'Spring' })
  const { credits, rows, verdicts } = await startBatch(pipeline, owner, id)
  expect(await viewOf(harness)).toMatchObject({ credits, rows, verdicts })
})

test('a batch that is read again shows nothing of its former rows but what their sample has cost', async () => {
  await using harness = await openHarness(60)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness)
  await endStages(harness)
  const changed = await changeBatch(pipeline, owner, id, { default_country: 'US' })
  expect(changed).toMatchObject({ credits: { used: 50 }, rows: { total: 0, done: 0 } })
  expect(new Set(Object.values(changed.verdicts))).toEqual(new Set([0]))
  expect(await viewOf(harness)).toEqual(changed)
})

test('a batch is deleted once a sample that a change has voided is charged', async () => {
  await using harness = await openHarness(60)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness, 'grey')
  // A worker has the other rows, so the sample cannot end yet.
  const lease = (until: string) =>
    pipeline.db.pool.query(
      `update tasks set group_key = null, lease = lease + 1, lease_until = ${until}`,
    )
  await lease("now() + interval '1 hour'")
  await changeBatch(pipeline, owner, id, { product: 'phone', default_country: 'US' })
  await endStages(harness)
  expect((await viewOf(harness)).status).toBe('ready')
  await expect(deleteBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
  await lease('null')
  await endStages(harness)
  const { used } = (await viewOf(harness)).credits
  expect(used).toBeGreaterThan(0)
  await deleteBatch(pipeline, owner, id)
  expect(await spent(harness)).toBe(used)
})

test('a batch that is canceled while its sample runs shows and charges the outcomes of the sample', async () => {
  await using harness = await openHarness(60)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness, 'grey')
  await cancelBatch(pipeline, owner, id)
  await endStages(harness)
  await endStages(harness)
  await endStages(harness)
  const view = await viewOf(harness)
  const charged = await spent(harness)
  expect(charged).toBeGreaterThan(0)
  expect(view).toMatchObject({ status: 'canceled', credits: { used: charged, held: 0 } })
  const lines = await resultsText(harness, id)
  const done = lines.split('\n').filter((line) => line.includes('"status":"done"'))
  // The duplicate of a sampled row is answered too.
  expect(done.length).toBeGreaterThanOrEqual(charged)
  expect(done.length).toBeLessThanOrEqual(charged + 1)
  await deleteBatch(pipeline, owner, id)
  const { rows } = await pipeline.db.pool.query(
    'select 1 from batches union all select 1 from chunks',
  )
  expect(rows).toEqual([])
})

test.each(['canceled', 'completed'] as const)(
  'a batch is %s though a fault of the service prevented a part of some rows of its sample',
  async (end) => {
    await using harness = await openHarness(9, 'contact-intel')
    const { pipeline, owner, id } = harness
    await sampleBatch(pipeline, owner, id)
    await answer(harness, 'nobody', ['email'])
    await fail(harness, 'phone')
    await endStages(harness)
    // Three of the nine rows have a number, and are errors.
    const sampled = { status: 'completed', rows: { drawn: 9, known: 9 }, credits_used: 6 }
    expect(await sampleOf(harness)).toMatchObject(sampled)
    if (end === 'canceled') await cancelBatch(pipeline, owner, id)
    else await startBatch(pipeline, owner, id)
    await answer(harness)
    await endStages(harness)
    const { status, credits } = await viewOf(harness)
    const used = end === 'canceled' ? 6 : credits.estimate
    expect([status, credits.used, credits.held]).toEqual([end, used, 0])
    expect(await spent(harness)).toBe(used)
    const lines = await resultsText(harness, id)
    const charges = [...lines.matchAll(/"credits_charged":(\d+)/g)]
    expect(charges.reduce((sum, [, charged]) => sum + Number(charged), 0)).toBe(used)
  },
)

test('what a sample has paid for a row stays charged if a fault prevents the rest of the row', async () => {
  await using harness = await openHarness(9, 'contact-intel')
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness, 'nobody', ['email'])
  await pipeline.db.pool.query(`update batches set created_at = created_at - interval '61 s'`)
  await endOverdueSamples(pipeline)
  await endStages(harness)
  expect(await sampleOf(harness)).toMatchObject({ status: 'completed', credits_used: 9 })
  await startBatch(pipeline, owner, id)
  // Three of the nine rows have a number, and are errors.
  await fail(harness, 'phone')
  await endStages(harness)
  const { status, credits } = await viewOf(harness)
  expect([status, credits.used, credits.held]).toEqual(['completed', 9, 0])
  expect(await spent(harness)).toBe(9)
})

test('the ledger names the batch of a sample', async () => {
  await using harness = await openHarness(9)
  const { pipeline, owner, id } = harness
  await sampleBatch(pipeline, owner, id)
  await answer(harness)
  await endStages(harness)
  const page = { limit: 10, place: undefined }
  const { entries } = await readLedger(pipeline.db, owner.accountId, page)
  const moves = entries.filter(({ source }) => source === 'batch')
  expect(moves.map(({ kind }) => kind)).toEqual(['release', 'settle', 'hold'])
  for (const move of moves) expect(move).toMatchObject({ batch_id: id, batch_name: 'list.csv' })
})

test('no notification is sent for a sample', async () => {
  await using harness = await openHarness(9)
  const { pipeline, owner, id } = harness
  await pipeline.db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
      values ('whk_0123456789abcdef', $1, 'https://a.example', '{batch.completed,batch.canceled}', 's')`,
    [owner.accountId],
  )
  await sampleBatch(pipeline, owner, id)
  await answer(harness)
  await endStages(harness)
  expect((await sampleOf(harness)).status).toBe('completed')
  const { rows } = await pipeline.db.pool.query('select 1 from webhook_events')
  expect(rows).toEqual([])
})

test.each([
  ['email', 49, 'no chunk is'],
  // The addresses alone cost less, which shows only when the rows are drawn.
  ['contact-intel', 51, 'its chunks are'],
] as const)(
  'a sample of %s is refused without its credits, and takes none then; with %i of them %s read',
  async (product, credits, read) => {
    await using harness = await openHarness(60, product)
    const { pipeline, owner, id } = harness
    await pipeline.db.pool.query('update credit_accounts set allowance = $1, packs = 0', [credits])
    const turn = vi.fn<() => Promise<void>>(async () => {})
    await expect(sampleBatch(pipeline, owner, id, undefined, turn)).rejects.toMatchObject({
      code: 'payment_required',
    })
    expect(turn.mock.calls.length > 0).toBe(read === 'its chunks are')
    const { rows } = await pipeline.db.pool.query(
      'select 1 from batches where sample_of is not null',
    )
    expect(rows).toEqual([])
  },
)

test('rows are drawn from the whole batch, the same for the same seed, and none twice', () => {
  const drawn = drawOrdinals('seed', 1_000_000, 50)
  expect(drawOrdinals('seed', 1_000_000, 50)).toEqual(drawn)
  expect(drawOrdinals('other', 1_000_000, 50)).not.toEqual(drawn)
  expect(new Set(drawn).size).toBe(50)
  expect(drawn.filter((ordinal) => ordinal < 500_000).length).toBeGreaterThan(10)
  expect(Math.max(...drawn)).toBeLessThan(1_000_000)
  expect(drawOrdinals('seed', 3, 50)).toEqual([0, 1, 2])
})

test('shares are returned with their Wilson interval', () => {
  const [yes, no] = sharesOf(
    ['yes', 'no'],
    [...Array<string>(10).fill('yes'), ...Array<string>(40).fill('no')],
  )
  expect(yes).toEqual({ verdict: 'yes', count: 10, share: 0.2, low: 0.1124, high: 0.3304 })
  expect(no?.count).toBe(40)
  expect(sharesOf(['yes'], [])).toEqual([{ verdict: 'yes', count: 0, share: 0, low: 0, high: 1 }])
})
