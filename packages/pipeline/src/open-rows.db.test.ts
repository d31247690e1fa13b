import type { Answer } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { resultsText } from './results-fixture.ts'
import { runTask } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'

interface Line {
  readonly row: number
  readonly status: string
  readonly result: unknown
  readonly credits_charged: number
  readonly error: string | null
}

/** Runs all tasks of some checks once; subjects that contain `grey` wait for two hours. */
async function runOnce(harness: TestPipeline, checks: readonly Check[], most = 100): Promise<void> {
  const { db, limits } = harness.pipeline
  const slots = { email: 0, phone: 0, ip: 0, domain: 0 }
  for (const check of checks) slots[check] = most
  using leases = createTaskLeases(harness.pipeline)
  for (const task of await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })) {
    const run = async ({ subjects }: { subjects: readonly string[] }): Promise<Answer[]> =>
      subjects.map((subject) =>
        subject.includes('grey')
          ? { kind: 'later', afterMs: 7.2e6, group: 'g', isOwnWait: true, reason: 'greylisted' }
          : outcomeFor(task.check, subject),
      )
    await runTask(harness.pipeline, leases, () => ({ run }), task, new AbortController().signal)
  }
}

async function linesOf(...asked: Parameters<typeof resultsText>): Promise<readonly Line[]> {
  // Safe because the tests compare each line with the expected value.
  return (await resultsText(...asked))
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}

const statuses = (lines: readonly Line[]): string => lines.map(({ status }) => status[0]).join('')

test('a waiting row shows why and until when; with `after` the response ends before it', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 4 } })
  const rows = ['a', 'b', 'grey', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `${name}@a.example`)
  const { id } = await harness.read(`email\n${rows.join('\n')}\n`)
  expect(await linesOf(harness, id)).toEqual([])
  await runOnce(harness, ['email'], 2)
  // The third chunk has no outcomes.
  const lines = await linesOf(harness, id)
  expect(statuses(lines)).toBe('ddwddddd')
  expect(lines[2]).toMatchObject({ row: 3, result: null, credits_charged: 0 })
  expect(lines[2]?.error).toMatch(/^waiting: .*\(greylisting\), not before \d{4}-.*Z$/)
  expect(lines[3]).toMatchObject({ credits_charged: 1, error: null })
  expect(statuses(await linesOf(harness, id, { follows: true }))).toBe('dd')
  expect(await linesOf(harness, id, { follows: true, after: 2 })).toEqual([])
  const behind = await linesOf(harness, id, { follows: true, after: 3 })
  expect(behind.map(({ row }) => row)).toEqual([4, 5, 6, 7, 8])
  expect(statuses(await linesOf(harness, id, { only: ['waiting'] }))).toBe('w')
  const csv = (await resultsText(harness, id, { format: 'csv' })).split('\r\n')
  expect(csv).toHaveLength(10)
  expect(csv[3]).toMatch(/^grey@a\.example,.*,0,"?waiting: /)
})

test('a row of several checks waits for its last part, and a duplicate for the row that it duplicates', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
  const file =
    'email,phone\na@a.example,+14155550100\ngrey@a.example,+14155550101\nb@a.example,\n' +
    'grey@a.example,+14155550101\na@a.example,+1 415 555 0100\n,\n,+14155550102\n'
  const { id } = await harness.read(file, { product: 'contact-intel' })
  await runOnce(harness, ['email'])
  expect(statuses(await linesOf(harness, id))).toBe('wwdwwbr')
  await runOnce(harness, ['phone'])
  const lines = await linesOf(harness, id)
  expect(statuses(lines)).toBe('dwdwdbr')
  expect(lines[1]).toMatchObject({ result: null, credits_charged: 0 })
  expect(lines[3]?.error).toMatch(/^waiting: /)
  expect(statuses(await linesOf(harness, id, { follows: true, after: 2 }))).toBe('d')
})

test('a row that is shown as done while its batch runs is the same at the end', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 5 } })
  const rows = Array.from(
    { length: 23 },
    (_, no) => `${no % 4 === 1 ? 'grey' : 'u'}${no}@a.example`,
  )
  const { id } = await harness.read(`email\n${rows.join('\n')}\n`)
  await runOnce(harness, ['email'])
  const early = await linesOf(harness, id)
  await harness.pipeline.db.pool.query('update tasks set due_at = now()')
  await harness.pipeline.db.pool.query(`update task_groups set quiet_until = '-infinity'`)
  await harness.answer()
  const late = await linesOf(harness, id)
  expect(late).toHaveLength(23)
  const known = early.filter(({ status }) => status === 'done')
  expect(known.length).toBeGreaterThan(15)
  for (const line of known) expect(late[line.row - 1]).toEqual(line)
})
