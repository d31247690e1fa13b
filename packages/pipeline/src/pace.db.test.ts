import type { Check } from '@plumbline/contract/products'
import { eraseStep } from '@plumbline/db/batches/erase'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import type { Answer, EngineRequest } from '@plumbline/ports/engine'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { pauseBatch, resumeBatch } from './pause.ts'
import { getBatch } from './read.ts'
import { runTask } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'

test('the open subjects of a batch are stored while it runs, give the remaining time, and are deleted at a pause', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  const rows = Array.from({ length: 10 }, (_, no) => `u${no}@a.example,+1415555010${no}`)
  const { id } = await harness.read(`email,phone\n${rows.join('\n')}\n`, {
    product: 'contact-intel',
  })
  const pace = async () =>
    (await pool.query<{ pace: object[] | null }>('select pace from batches')).rows[0]?.pace
  expect(await pace()).toBeNull()
  await harness.answer(4)
  // The second save came too soon after the first to be stored as a sample.
  expect(await pace()).toHaveLength(1)
  const { rows: open } = await pool.query<{ kind: string; size: number }>(
    'select check_kind as kind, sum(size)::int as size from tasks group by 1',
  )
  const left = Object.fromEntries(open.map(({ kind, size }) => [kind, size]))
  // It began ten minutes ago; a minute ago one more subject of each check was open.
  await pool.query(
    `update batches set ats = ats || jsonb_build_object('running', to_char(
        now() at time zone 'utc' - interval '600 s', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      pace = jsonb_build_array(jsonb_build_object('at', extract(epoch from now()) * 1000 - 60000,
        'open', jsonb_build_object('email', $1::int, 'phone', $2::int)))`,
    [(left['email'] ?? 0) + 1, (left['phone'] ?? 0) + 1],
  )
  const most = Math.max(left['email'] ?? 0, left['phone'] ?? 0)
  const eta = (await getBatch(pipeline, owner, id)).eta_seconds
  expect(eta).toBeGreaterThanOrEqual(60 * most)
  expect(eta).toBeLessThan(66 * most)
  await pauseBatch(pipeline, owner, id)
  await resumeBatch(pipeline, owner, id)
  expect(await pace()).toBeNull()
})

test('subjects that wait for a provider are estimated by its pace, however fast others are', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  const rows = [1, 2, 3, 4].flatMap((no) => [`u${no}@fast.example`, `u${no}@slow.example`])
  const { id } = await harness.read(`email\n${rows.join('\n')}\n`)
  const counted = async () =>
    (
      await pool.query<{ key: string; answered: number }>(
        'select group_key as key, answered::int from group_answers',
      )
    ).rows
  const afterMs = 100_000
  const later = { kind: 'later', afterMs, group: 'mx:slow', reason: 'rate_limited' } as const
  await runSome(harness, 2, (subject) => (subject.includes('slow') ? later : undefined))
  // Nothing is counted for a group with capacity.
  expect(await counted()).toEqual([])
  await runSome(harness, 1, () => undefined)
  const [slow] = await counted()
  expect(slow).toEqual({ key: expect.stringMatching(/^mx:/), answered: 1 })
  expect(slow?.key).not.toContain('slow')
  // A minute ago all subjects were open: since then four were answered, one of them by the slow
  // provider.
  const group = { check: 'email', key: slow?.key, open: 0, answered: 0 }
  await pool.query(
    `update batches set ats = ats || jsonb_build_object('running', to_char(
        now() at time zone 'utc' - interval '60 s', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      pace = jsonb_build_array(jsonb_build_object('at', extract(epoch from now()) * 1000 - 60000,
        'open', '{"email": 8}'::jsonb, 'groups', jsonb_build_array($1::jsonb)))`,
    [JSON.stringify(group)],
  )
  // Two wait, and of the two that were not asked about yet one will: at one a minute, not at four.
  const eta = (await getBatch(pipeline, owner, id)).eta_seconds
  expect(eta).toBeGreaterThanOrEqual(180)
  expect(eta).toBeLessThan(270)
  await pool.query(`update batches set erasing = 'chunks'`)
  while ((await eraseStep(pipeline.db, id)) === 'more') {
    // Each step erases some rows.
  }
  expect(await counted()).toEqual([])
})

/**
 * Runs this many tasks of emails, each subject by the name of its domain; `waits` names those that
 * are delayed.
 */
async function runSome(
  { pipeline }: TestPipeline,
  most: number,
  waits: (subject: string) => Answer | undefined,
): Promise<void> {
  const { db, limits } = pipeline
  const slots = { email: most, phone: 0, ip: 0, domain: 0 }
  const run = async ({ subjects, answered }: EngineRequest<Check>): Promise<Answer[]> =>
    subjects.map((subject, at) => {
      const answer = waits(subject) ?? outcomeFor<Check>('email', subject)
      const group = `mx:${/@(\w+)/.exec(subject)?.[1] ?? ''}`
      answered?.(at, answer, answer.kind === 'outcome' ? group : undefined)
      return answer
    })
  using leases = createTaskLeases(pipeline)
  for (const task of await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })) {
    await runTask(pipeline, leases, () => ({ run }), task, new AbortController().signal)
  }
}
