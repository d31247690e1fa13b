import { expect, test } from 'vitest'
import { openTestPipeline } from '@plumbline/testkit/pipeline'

test('rows of 60 KiB make chunks of a megabyte, so that no worker holds more than a few', async () => {
  await using harness = await openTestPipeline()
  const cells = `,${'x'.repeat(7_600)}`.repeat(8)
  const rows = Array.from({ length: 100 }, (_, no) => `u${no}@example.com${cells}\n`)
  const view = await harness.read(`email,a,b,c,d,e,f,g,h\n${rows.join('')}`)
  expect(view).toMatchObject({ status: 'running', rows: { total: 100, billable: 100 } })
  const chunks = await harness.pipeline.db.pool.query<{ first_row: number; row_count: number }>(
    'select first_row, row_count from chunks order by no',
  )
  expect(chunks.rows.length).toBeGreaterThan(4)
  let next = 0
  for (const { first_row, row_count } of chunks.rows) {
    expect(first_row).toBe(next)
    expect(row_count).toBeLessThanOrEqual(18)
    next += row_count
  }
  expect(next).toBe(100)
})
