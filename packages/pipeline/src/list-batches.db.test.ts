import { MOST_FILTERED } from '@plumbline/db/batches/rows'
import { rowsRead } from '@plumbline/db/rows-read-fixture'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { listBatches } from './read.ts'

const BATCHES = 2 * MOST_FILTERED + 100

/** Makes an account with many batches, of which a few are called `needle`, the newest as number 0. */
async function openHarness(needles: readonly number[]) {
  const harness = await openTestPipeline()
  const { db } = harness.pipeline
  await harness.submit('email\na@example.com\n', { product: 'email', autoStart: false })
  await db.pool.query(
    `insert into batches select copy.* from batches b, generate_series(1, $1::int) no,
      jsonb_populate_record(b, jsonb_build_object(
        'id', 'bat_' || no, 'created_at', b.created_at - no * interval '1 second',
        'name', case when no = any($2) then 'Needle ' || no else 'hay' end)) copy`,
    [BATCHES, needles],
  )
  await db.pool.query('analyze batches')
  return harness
}

async function allPages(
  { pipeline, owner }: TestPipeline,
  filter: Partial<Parameters<typeof listBatches>[2]>,
): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const { data, next_cursor: next } = await listBatches(pipeline, owner, {
      limit: 2,
      cursor,
      ...filter,
    })
    pages.push(data.map(({ id }) => id))
    cursor = next ?? undefined
  } while (cursor !== undefined)
  return pages
}

test('a filtered listing looks at a bounded number of batches for each page, and finds all of them', async () => {
  // Batch 0 is the submitted one, so that the first page looks at those up to 1,999.
  const ends = [1, MOST_FILTERED - 1, MOST_FILTERED, 2 * MOST_FILTERED - 1, BATCHES]
  await using harness = await openHarness(ends)
  const { db } = harness.pipeline
  const found = await allPages(harness, { search: 'needle' })
  expect(found.flat()).toEqual(ends.map((no) => `bat_${no}`))
  expect(found.length).toBeLessThanOrEqual(4)
  expect(await allPages(harness, { search: 'nothing' })).toEqual([[], [], []])
  expect(await allPages(harness, { states: ['failed'] })).toEqual([[], [], []])
  expect((await allPages(harness, { search: 'needle', limit: 100 })).flat()).toHaveLength(5)
  await db.kysely.transaction().execute(async (tx) => {
    const pipeline = { ...harness.pipeline, db: { ...db, kysely: tx } }
    const before = await rowsRead(tx, 'batches')
    await listBatches(pipeline, harness.owner, { limit: 20, cursor: undefined, search: 'nothing' })
    expect((await rowsRead(tx, 'batches')) - before).toBeLessThan(MOST_FILTERED + 100)
  })
})

test('a listing without a filter has full pages up to the last', async () => {
  await using harness = await openHarness([])
  const pages = await allPages(harness, { limit: 100 })
  expect(pages.slice(0, -1).every((page) => page.length === 100)).toBe(true)
  expect(pages.flat()).toEqual([
    expect.any(String),
    ...Array.from({ length: BATCHES }, (_, no) => `bat_${no + 1}`),
  ])
})
