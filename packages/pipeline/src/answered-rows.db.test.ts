import type { Answer } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { answeredRows } from './answered-rows.ts'
import { getBatch } from './read.ts'
import { resultsText } from './results-fixture.ts'
import { runTask } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'

const later = {
  kind: 'later',
  afterMs: 600_000,
  group: 'mx:grey',
  isOwnWait: true,
  reason: 'greylisted',
} as const

/** Runs all tasks of one check once; subjects that contain `grey` wait. */
async function runOnce(harness: TestPipeline, check: Check): Promise<void> {
  const { db, limits } = harness.pipeline
  const slots = { email: 0, phone: 0, ip: 0, domain: 0, [check]: 100 }
  using leases = createTaskLeases(harness.pipeline)
  for (const task of await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })) {
    const run = async ({ subjects }: { subjects: readonly string[] }): Promise<Answer[]> =>
      subjects.map((subject) => (subject.includes('grey') ? later : outcomeFor(check, subject)))
    await runTask(harness.pipeline, leases, () => ({ run }), task, new AbortController().signal)
  }
}

async function doneIn(harness: TestPipeline, id: string): Promise<number> {
  return (await getBatch(harness.pipeline, harness.owner, id)).rows.done
}

/** Verdicts of the rows that are shown as done, duplicates left out, as the batch counts them. */
async function verdictsShown(harness: TestPipeline, id: string): Promise<Record<string, number>> {
  const { pipeline, owner } = harness
  const { verdicts } = await getBatch(pipeline, owner, id)
  const counts: Record<string, number> = Object.fromEntries(
    Object.keys(verdicts).map((name) => [name, 0]),
  )
  const seen = new Set<string>()
  for (const line of (await resultsText(harness, id)).trim().split('\n')) {
    const { status, input, result } = JSON.parse(line) as ShownLine
    if (status !== 'done' || seen.has(input.email)) continue
    seen.add(input.email)
    const name = result.email?.status ?? result.risk_level ?? statusOfEmail(input.email)
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

interface ShownLine {
  readonly status: string
  readonly input: { readonly email: string }
  readonly result: { readonly risk_level?: string; readonly email?: { readonly status?: string } }
}

function statusOfEmail(address: string): string {
  return outcomeFor('email', address).status
}

test('one waiting row does not delay the others of its chunk', async () => {
  await using harness = await openTestPipeline()
  const rows = Array.from({ length: 10 }, (_, no) => `u${no}@${no === 4 ? 'grey' : 'a'}.example`)
  const { id } = await harness.read(`email\n${rows.join('\n')}\n${rows[1]}\n\nx,y\n`)
  expect(await doneIn(harness, id)).toBe(0)
  await runOnce(harness, 'email')
  const view = await getBatch(harness.pipeline, harness.owner, id)
  expect(view.rows.total - view.rows.done).toBe(1)
  expect(view.verdicts).toEqual(await verdictsShown(harness, id))
  expect(Object.values(view.verdicts).reduce((sum, count) => sum + count, 0)).toBe(10)
  const { rows: waiting } = await harness.pipeline.db.pool.query('select reason from tasks')
  expect(waiting).toEqual([{ reason: 'greylisted' }])
  await harness.pipeline.db.pool.query('update tasks set due_at = now()')
  await harness.pipeline.db.pool.query(`update task_groups set quiet_until = '-infinity'`)
  await harness.answer()
  expect(await doneIn(harness, id)).toBe(view.rows.total)
})

test('a row of several checks is done with its last part, whatever their order', async () => {
  await using harness = await openTestPipeline()
  const file =
    'email,phone\na@a.example,+14155550100\nb@grey.example,+14155550101\nc@a.example,\nd@a.example,+14155550102\n'
  const { id } = await harness.read(file, { product: 'contact-intel' })
  await runOnce(harness, 'email')
  expect(await doneIn(harness, id)).toBe(1)
  await runOnce(harness, 'phone')
  expect(await doneIn(harness, id)).toBe(3)
  const { verdicts } = await getBatch(harness.pipeline, harness.owner, id)
  expect(verdicts).toEqual(await verdictsShown(harness, id))
  expect(Object.values(verdicts).reduce((sum, count) => sum + count, 0)).toBe(3)
})

test('the time left is that of the slowest check', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const rows = Array.from({ length: 10 }, (_, no) => `u${no}@a.example,+1415555010${no}`)
  const { id } = await harness.read(`email,phone\n${rows.join('\n')}\n`, {
    product: 'contact-intel',
  })
  await runOnce(harness, 'phone')
  const { db } = harness.pipeline
  const task = 'select id from tasks where check_kind = $1 order by chunk_no limit 2'
  const { rows: two } = await db.pool.query<{ id: number }>(task, ['email'])
  await db.pool.query('update tasks set due_at = now() + interval $$1 s$$ where id <> all($1)', [
    two.map((row) => row.id),
  ])
  await runOnce(harness, 'email')
  await db.pool.query('update tasks set due_at = null')
  await db.pool.query(
    `update batches set ats = ats || jsonb_build_object('running', to_char(
      now() at time zone 'utc' - interval '60 s', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`,
  )
  const { progress, eta_seconds: eta } = await getBatch(harness.pipeline, harness.owner, id)
  expect(progress).toBe(0.6)
  // A fifth of the addresses took a minute; all phone numbers are answered.
  expect(eta).toBeGreaterThan(230)
  expect(eta).toBeLessThan(260)
})

test('each row is counted once, whatever parts its outcomes arrive in', () => {
  const subjects = {
    email: { subjects: ['a', 'b', 'c'], places: [0, 2, 3] },
    phone: { subjects: ['1', '2'], places: [2, 3] },
  }
  expect(answeredRows(subjects, [])).toBe(0)
  expect(answeredRows(subjects, [{ check: 'phone', indexes: null }])).toBe(0)
  expect(
    answeredRows(subjects, [
      { check: 'email', indexes: [2] },
      { check: 'phone', indexes: [1] },
      { check: 'email', indexes: [0] },
    ]),
  ).toBe(2)
})

test('a row of fraud signals is counted by level with its last part, once, and the same after settlement', async () => {
  await using harness = await openTestPipeline()
  const rows = ['a@a.example,203.0.113.1', 'b@grey.example,203.0.113.2', 'c@a.example,']
  const { id } = await harness.read(`email,ip\n${rows.join('\n')}\n`, { product: 'fraud-signals' })
  const counted = async (): Promise<Record<string, number>> =>
    (await getBatch(harness.pipeline, harness.owner, id)).verdicts
  const sum = (counts: Record<string, number>): number =>
    Object.values(counts).reduce((all, count) => all + count, 0)
  await runOnce(harness, 'email')
  expect(sum(await counted())).toBe(1)
  await runOnce(harness, 'ip')
  const open = await counted()
  expect(sum(open)).toBe(2)
  expect(open).toEqual(await verdictsShown(harness, id))
  await harness.pipeline.db.pool.query('update tasks set due_at = now()')
  await harness.pipeline.db.pool.query(`update task_groups set quiet_until = '-infinity'`)
  await harness.answer()
  expect(sum(await counted())).toBe(3)
})
