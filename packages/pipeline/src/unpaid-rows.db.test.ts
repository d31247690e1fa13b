import { takeUnpaidRows } from '@plumbline/db/batches/unpaid-rows'
import { expect, test } from 'vitest'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { runIntake } from './intake-stage.ts'
import { getBatch } from './read.ts'

const TEST = { mode: 'test' } as const
const TOO_MANY = { code: 'too_many_requests', retryAfterSeconds: expect.any(Number) }

function contentOf(count: number, first = 0): string {
  const lines = Array.from({ length: count }, (_, no) => `user${first + no}@example.com`)
  return `email\n${lines.join('\n')}\n`
}

async function countedToday(harness: TestPipeline): Promise<number> {
  const { rows } = await harness.pipeline.db.pool.query<{ count: number }>(
    'select coalesce(sum(row_count), 0)::int as count from unpaid_rows',
  )
  return rows[0]?.count ?? -1
}

/** Reads a batch of a test key, which belongs to the other mode of its owner. */
async function readTest(harness: TestPipeline, content: string): Promise<string | undefined> {
  const { id } = await harness.submit(content, TEST)
  await runIntake(harness.pipeline, { batchId: id, lease: 1 }, new AbortController().signal)
  const view = await getBatch(harness.pipeline, { ...harness.owner, ...TEST }, id)
  return view.status === 'failed' ? view.error?.message : view.status
}

test('paid rows are not counted; duplicates, blank and refused rows are', async () => {
  await using harness = await openTestPipeline()
  const { rows } = await harness.read(
    `${contentOf(20)}user1@example.com\n,\nuser2@example.com\n,x\n`,
  )
  const { total, billable } = rows
  expect(billable).toBe(20)
  expect(await countedToday(harness)).toBe(total - billable)
  expect(total).toBeGreaterThan(billable)
})

test('all rows of a test key count', async () => {
  await using harness = await openTestPipeline()
  expect(await readTest(harness, contentOf(20))).toBe('running')
  expect(await countedToday(harness)).toBe(20)
})

test("a batch that exceeds the rest of its account's daily limit fails with that reason", async () => {
  await using harness = await openTestPipeline({ limits: { unpaidRowsPerDay: 50 } })
  expect(await readTest(harness, contentOf(40))).toBe('running')
  const says = await readTest(harness, contentOf(40))
  expect(says).toMatch(/^The account has used up its 50 rows a day that nobody pays for/)
  // Its rows were read, so they are counted.
  expect(await countedToday(harness)).toBe(50)
})

test('at the limit, a batch of a test key is refused before it is read, a live one is not', async () => {
  await using harness = await openTestPipeline({ limits: { unpaidRowsPerDay: 10 } })
  expect(await readTest(harness, contentOf(10))).toBe('running')
  await expect(harness.submit(contentOf(1), TEST)).rejects.toMatchObject(TOO_MANY)
  expect(await harness.read(contentOf(30))).toMatchObject({ status: 'running' })
  const duplicate = await harness.read(`${contentOf(3)}user1@example.com\n`)
  expect(duplicate).toMatchObject({ status: 'failed', error: { error: 'Too Many Requests' } })
  expect(duplicate.credits).toMatchObject({ held: 0, used: 0 })
})

test('the limit starts again the next day', async () => {
  await using harness = await openTestPipeline({ limits: { unpaidRowsPerDay: 10 } })
  expect(await readTest(harness, contentOf(10))).toBe('running')
  await harness.pipeline.db.pool.query(`update unpaid_rows set day = day - 1`)
  expect(await readTest(harness, contentOf(4))).toBe('running')
  expect(await countedToday(harness)).toBe(4)
})

test('a batch that is read again is counted once, and refused again if it was refused', async () => {
  await using harness = await openTestPipeline()
  const { id } = await harness.submit(contentOf(1))
  const stage = { batchId: id, lease: 1 }
  const take = async (count: number): Promise<string> =>
    await takeUnpaidRows(harness.pipeline.db, stage, { count, mostPerDay: 100 })
  // A worker that is killed after 60 rows; the next one starts from the first.
  expect([await take(30), await take(60)]).toEqual(['taken', 'taken'])
  expect([await take(30), await take(60), await take(90)]).toEqual(['taken', 'taken', 'taken'])
  expect(await countedToday(harness)).toBe(90)
  expect([await take(120), await take(120)]).toEqual(['over', 'over'])
  expect(await countedToday(harness)).toBe(100)
  // A lower limit forgets none.
  const lower = { count: 130, mostPerDay: 50 }
  expect(await takeUnpaidRows(harness.pipeline.db, stage, lower)).toBe('over')
  expect(await countedToday(harness)).toBe(100)
  expect(
    await takeUnpaidRows(
      harness.pipeline.db,
      { ...stage, lease: 2 },
      { count: 1, mostPerDay: 100 },
    ),
  ).toBe('lost')
})

test('concurrent batches share the daily limit exactly', async () => {
  await using harness = await openTestPipeline({ limits: { unpaidRowsPerDay: 100 } })
  const { pool } = harness.pipeline.db
  const batches = await Promise.all(
    Array.from({ length: 8 }, () => harness.submit(contentOf(1), { mode: 'test' })),
  )
  const taken = await Promise.all(
    batches.flatMap(({ id }) =>
      [10, 20, 30].map((count) =>
        takeUnpaidRows(harness.pipeline.db, { batchId: id, lease: 1 }, { count, mostPerDay: 100 }),
      ),
    ),
  )
  expect(taken).toContain('over')
  expect(await countedToday(harness)).toBe(100)
  const { rows } = await pool.query<{ sum: number }>(
    'select sum(rows_unpaid)::int as sum from batches',
  )
  expect(rows[0]?.sum).toBeLessThanOrEqual(100)
})
