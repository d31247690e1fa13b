import { recommendEmail } from '@plumbline/contract/advice'
import Papa from 'papaparse'
import { expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { resultsText } from './results-fixture.ts'

interface Line {
  readonly status: string
  readonly result: object | null
  readonly advice: string | null
  readonly why: string | null
  readonly suggestion: string | null
}

async function linesOf(harness: TestPipeline, id: string): Promise<readonly Line[]> {
  const lines = (await resultsText(harness, id, { format: 'ndjson' })).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Line)
}

async function tableOf(
  harness: TestPipeline,
  id: string,
): Promise<readonly Record<string, string>[]> {
  const csv = await resultsText(harness, id, { format: 'csv' })
  return Papa.parse<Record<string, string>>(csv, { header: true, skipEmptyLines: true }).data
}

const ADDRESSES = Array.from({ length: 40 }, (_, no) => `user${no}@example.com`)

test.each([false, true])(
  'every row of addresses has advice, the same in CSV and NDJSON (explain %s)',
  async (explain) => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
    const content = ['email', ...ADDRESSES, 'Ada@gmial.com', ADDRESSES[3], 'x', ''].join('\n')
    const { id } = await harness.read(`${content}\n`, { explain })
    await harness.answer()
    await harness.workStages()
    const lines = await linesOf(harness, id)
    const expected = ADDRESSES.map((address) => recommendEmail(outcomeFor('email', address)))
    const told = lines.map(({ advice, why, suggestion }) => ({ advice, why, suggestion }))
    expect(told.slice(0, ADDRESSES.length)).toEqual(expected)
    expect(told[40]?.suggestion).toBe('Ada@gmail.com')
    expect(told[41]).toEqual(told[3])
    expect(told[42]).toMatchObject({ advice: 'do_not_send', suggestion: null })
    expect(lines.every(({ result }) => result === null || !('advice' in result))).toBe(true)
    const table = await tableOf(harness, id)
    expect(
      table.map((row) => [row['result.advice'], row['result.why'], row['result.suggestion']]),
    ).toEqual(
      told.map(({ advice, why, suggestion }) => [advice ?? '', why ?? '', suggestion ?? '']),
    )
  },
)

test('a duplicate that writes the address differently has its own notation in the suggestion', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
  const { id } = await harness.read('email\nada@gmial.com\nb@c.example\nada@GMIAL.com\n')
  await harness.answer()
  const lines = await linesOf(harness, id)
  expect(lines.map(({ suggestion }) => suggestion)).toEqual([
    'ada@gmail.com',
    null,
    'ada@gmail.com',
  ])
})

test('fraud signals have advice by their level, and other products have none', async () => {
  await using harness = await openTestPipeline()
  const rows = ADDRESSES.map((address, no) => `${address},203.0.113.${no}`)
  const content = `email,ip\n${rows.join('\n')}\n`
  const { id } = await harness.read(content, { product: 'fraud-signals' })
  const plain = await harness.read(content, { product: 'ip' })
  await harness.answer()
  const advice = { low: 'allow', medium: 'review', high: 'block' }
  const levels = new Set<string>()
  for (const line of await linesOf(harness, id)) {
    const { risk_level: level, fraud_score: score } = line.result as {
      readonly risk_level: keyof typeof advice
      readonly fraud_score: number
    }
    levels.add(level)
    expect(line.advice).toBe(advice[level])
    expect(line.why).toMatch(score === 0 ? /^Nothing speaks for risk/ : `out of ${score}: `)
  }
  expect(levels.size).toBeGreaterThan(1)
  for (const line of await linesOf(harness, plain.id)) {
    expect(line).toMatchObject({ status: 'done', advice: null, why: null, suggestion: null })
  }
})

test('a refused row, or one without all its outcomes, has no advice', async () => {
  await using harness = await openTestPipeline()
  const { id } = await harness.read('email,phone\n,+14155550100\n,\na@b.example,\n', {
    product: 'deliverability',
  })
  await harness.answer()
  const lines = await linesOf(harness, id)
  expect(lines.map(({ status, advice }) => [status, advice === null])).toEqual([
    ['refused', true],
    ['blank', true],
    ['done', false],
  ])
})
