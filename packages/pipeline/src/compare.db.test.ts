import { setImmediate as nextTurn } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import type { BatchView } from '@plumbline/contract/batch-view'
import { comparison } from '@plumbline/contract/comparison'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import Papa from 'papaparse'
import { expect, test } from 'vitest'
import { packOutcomes, unpackOutcomes } from './codec.ts'
import { openComparison, type ComparisonRequest } from './compare.ts'
import { getBatch } from './read.ts'
import { recheckBatch } from './recheck.ts'

async function completed(
  harness: TestPipeline,
  content: string,
  options: Parameters<TestPipeline['read']>[1] = {},
): Promise<BatchView> {
  const view = await harness.read(content, options)
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
  return view
}

async function rechecked(
  harness: TestPipeline,
  id: string,
  only: readonly string[],
): Promise<BatchView> {
  const { pipeline, owner } = harness
  const wish = { only: [...only], chargeUnknown: true }
  const made = await recheckBatch(pipeline, owner, id, wish)
  await pipeline.db.pool.query('update batches set lease_until = null where id = $1', [made.id])
  await harness.workStages()
  await harness.answer()
  await closeFinishedBatches(pipeline.db)
  await harness.workStages()
  return await getBatch(pipeline, owner, made.id)
}

async function compared(
  { pipeline, owner }: TestPipeline,
  ids: readonly [string, string],
  request: Partial<ComparisonRequest> = {},
): Promise<string> {
  const wanted = { format: 'json', all: false, ...request } as const
  return await text((await openComparison(pipeline, owner, ids, wanted, nextTurn)).stream)
}

const ADDRESSES = Array.from({ length: 200 }, (_, no) => `user${no}@example.com`)
const listOf = (addresses: readonly string[]): string => `email\n${addresses.join('\n')}\n`

/** Makes every unknown address of a batch deliverable, as may happen between two checks. */
async function settleUnknown({ pipeline }: TestPipeline, id: string): Promise<void> {
  const { rows } = await pipeline.db.pool.query<{ id: number; outcomes: Buffer }>(
    'select id, outcomes from parts where batch_id = $1',
    [id],
  )
  for (const part of rows) {
    const outcomes = unpackOutcomes(part.outcomes).map((outcome) =>
      outcome?.status === 'unknown'
        ? { ...outcome, status: 'deliverable' as const, reason: 'accepted' as const }
        : outcome,
    )
    await pipeline.db.pool.query('update parts set outcomes = $2 where id = $1', [
      part.id,
      await packOutcomes(outcomes, false),
    ])
  }
}

/**
 * Replaces the outcome of the first row of each part by none, as a fault of the service does.
 *
 * @returns how many that are
 */
async function loseFirst({ pipeline }: TestPipeline, id: string): Promise<number> {
  const { rows } = await pipeline.db.pool.query<{ id: number; outcomes: Buffer }>(
    'select id, outcomes from parts where batch_id = $1',
    [id],
  )
  for (const part of rows) {
    const outcomes = [null, ...unpackOutcomes(part.outcomes).slice(1)]
    await pipeline.db.pool.query('update parts set outcomes = $2 where id = $1', [
      part.id,
      await packOutcomes(outcomes, false),
    ])
  }
  return rows.length
}

test('two batches of the same records have no differences, or list each changed row', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const first = await completed(harness, listOf(ADDRESSES))
  const second = await completed(
    harness,
    listOf(['', ...ADDRESSES.map((address) => address.replace('example', 'EXAMPLE'))]),
  )
  const ids = [second.id, first.id] as const
  const same = comparison.parse(JSON.parse(await compared(harness, ids)))
  expect(same).toMatchObject({
    before: first.id,
    after: second.id,
    rows: { compared: 200, changed: 0, only_before: 0, only_after: 0 },
  })
  expect(await compared(harness, ids, { format: 'ndjson' })).toBe('')
  const all = (await compared(harness, ids, { format: 'ndjson', all: true })).split('\n')
  expect(JSON.parse(all[0] ?? '')).toMatchObject({ row: 2, row_before: 1, ref: null, changed: [] })
})

test.each([
  ['ip', ['2001:db8::1', '192.0.2.7'], ['2001:0DB8:0::1', '192.0.2.7']],
  ['domain', ['bücher.example', 'firm.example'], ['xn--bcher-kva.example', 'Firm.example']],
] as const)(
  'two batches of the same %s, written differently, are compared',
  async (product, one, other) => {
    await using harness = await openTestPipeline()
    const first = await completed(harness, [product, ...one].join('\n'), { product })
    const second = await completed(harness, [product, ...other].join('\n'), { product })
    const told = comparison.parse(JSON.parse(await compared(harness, [first.id, second.id])))
    expect(told.rows).toMatchObject({ compared: 2, only_before: 0, only_after: 0 })
  },
)

test('rows in only one of the lists are counted, and the others compared', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const first = await completed(harness, listOf(ADDRESSES))
  const second = await completed(harness, listOf(['new@example.com', ...ADDRESSES.slice(5)]))
  const told = comparison.parse(JSON.parse(await compared(harness, [first.id, second.id])))
  expect(told.rows).toEqual({ compared: 195, changed: 0, only_before: 5, only_after: 1 })
})

test('a changed result is shown with the old one, and counted by verdict', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const first = await completed(harness, listOf(ADDRESSES))
  const second = await completed(harness, listOf(ADDRESSES))
  await settleUnknown(harness, second.id)
  const ids = [first.id, second.id] as const
  const summary = comparison.parse(JSON.parse(await compared(harness, ids)))
  const changed = summary.verdicts['unknown']?.['deliverable'] ?? 0
  expect(changed).toBeGreaterThan(5)
  expect(summary.rows).toMatchObject({ compared: 200, changed })
  expect(summary.verdicts['deliverable']?.['deliverable']).toBeGreaterThan(5)
  const lines = (await compared(harness, ids, { format: 'ndjson' })).trim().split('\n')
  expect(lines).toHaveLength(changed)
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({
      changed: ['verdict', 'advice', 'email.status', 'email.reason'],
      before: {
        verdict: 'unknown',
        advice: 'check_again',
        parts: { email: { reason: 'timeout' } },
      },
      after: { verdict: 'deliverable', advice: 'send', parts: { email: { reason: 'accepted' } } },
    })
  }
})

test('a recheck is compared with the rows that it checked again, also as CSV', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const { pipeline, owner } = harness
  const first = await completed(harness, listOf(ADDRESSES))
  const made = await rechecked(harness, first.id, ['unknown'])
  await settleUnknown(harness, made.id)
  const csv = await compared(harness, [first.id, made.id], { format: 'csv' })
  const { data } = Papa.parse<Record<string, string>>(csv, { header: true, skipEmptyLines: true })
  const { rows } = await getBatch(pipeline, owner, made.id)
  expect(data.map(({ row }) => Number(row))).toEqual(
    Array.from({ length: rows.total }, (_, at) => at + 1),
  )
  for (const row of data) {
    expect(row).toMatchObject({ 'before.verdict': 'unknown', 'after.verdict': 'deliverable' })
    expect(Number(row['row_before'])).toBeGreaterThanOrEqual(Number(row['row']))
  }
})

test('a recheck of rows that had no result is compared in the rows that had one', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const first = await completed(harness, listOf(ADDRESSES))
  const lost = await loseFirst(harness, first.id)
  const made = await rechecked(harness, first.id, ['unknown', 'error'])
  const summary = comparison.parse(JSON.parse(await compared(harness, [first.id, made.id])))
  const { total } = made.rows
  expect(total).toBeGreaterThan(lost + 5)
  expect(summary.rows).toEqual({
    compared: total - lost,
    changed: 0,
    only_before: ADDRESSES.length - total,
    only_after: lost,
  })
  expect(summary.verdicts).toEqual({ unknown: { unknown: total - lost } })
})

test('batches of different products, running ones and those of other accounts are not compared', async () => {
  await using harness = await openTestPipeline()
  const first = await completed(harness, listOf(ADDRESSES))
  const running = await harness.read(listOf(ADDRESSES))
  await expect(compared(harness, [first.id, running.id])).rejects.toMatchObject({
    code: 'conflict',
  })
  await expect(compared(harness, [first.id, 'bat_none'])).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('a summary ends when its client is gone, before the rest is read', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 20 } })
  const { pipeline, owner } = harness
  const first = await completed(harness, listOf(ADDRESSES))
  const second = await completed(harness, listOf(ADDRESSES))
  const wanted = { format: 'json', all: false } as const
  let turns = 0
  const turn = async (): Promise<void> => {
    turns += 1
    if (turns > 3) throw new Error('the client is gone')
  }
  const ids = [first.id, second.id] as const
  await expect(openComparison(pipeline, owner, ids, wanted, turn)).rejects.toThrow('gone')
  expect(turns).toBeLessThan(8)
})
