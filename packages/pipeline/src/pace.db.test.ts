import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { pauseBatch, resumeBatch } from './pause.ts'
import { getBatch } from './read.ts'

test('what is open of a batch is noted as it runs, tells the time left, and is forgotten by a rest', async () => {
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
  // The second save came too soon after the first to be noted.
  expect(await pace()).toHaveLength(1)
  const { rows: open } = await pool.query<{ kind: string; size: number }>(
    'select check_kind as kind, sum(size)::int as size from tasks group by 1',
  )
  const left = Object.fromEntries(open.map(({ kind, size }) => [kind, size]))
  // Ten minutes ago it began; a minute ago one more of each was open.
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
