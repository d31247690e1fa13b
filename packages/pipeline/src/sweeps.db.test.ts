import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { PATIENT } from '@plumbline/testkit/patience'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import type { Pipeline } from './pipeline.ts'
import { requireOwnStore } from './sweep-store.ts'
import { inEveryFourthSweep, runSweeps } from './sweeps.ts'

const CONTENT = 'email\na@b.example\nb@b.example\nc@b.example\n'

/** Runs the sweeps without a pause until disposed. */
function startSweeps(pipeline: Pipeline): AsyncDisposable {
  const stop = new AbortController()
  const running = runSweeps(
    pipeline,
    { everyMs: 20, debitTimeoutSeconds: 60, strayFilesDays: 7, onSwept: () => undefined },
    stop.signal,
  )
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/** Ends the retention of a batch. */
async function endRetention({ pipeline }: TestPipeline, id: string): Promise<void> {
  await pipeline.db.pool.query(
    `update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'
     where id = $1`,
    [id],
  )
}

/** The rows of a query, with all findings old enough to be repaired. */
async function look({ pipeline }: TestPipeline, query: string): Promise<unknown> {
  const { pool } = pipeline.db
  await pool.query(`update reconciler_findings set seen_at = seen_at - interval '61 s'`)
  return (await pool.query(query)).rows
}

test('a file store that never replies delays neither expiry nor repairs', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline } = harness
  const { pool } = pipeline.db
  await allowAnyTransition(pipeline.db)
  await requireOwnStore(pipeline)
  const expired = await harness.read(CONTENT)
  await endRetention(harness, expired.id)
  const running = await harness.read(CONTENT)
  await pool.query('delete from tasks where batch_id = $1', [running.id])
  // Has waited for its intake for so long that its file is checked.
  await harness.submit(CONTENT)
  await pool.query(`update batches set ats = '{"analyzing": "2026-01-01T00:00:00Z"}'
    where status = 'analyzing'`)
  const away = Promise.withResolvers<never>()
  away.promise.catch(() => undefined)
  const asked = new Set<string>()
  const silent = (verb: string) => async () => {
    asked.add(verb)
    return await away.promise
  }
  const storage = { ...pipeline.storage, open: silent('open'), remove: silent('remove') }
  {
    await using _ = startSweeps({ ...pipeline, storage })
    await expect.poll(() => [...asked].toSorted(), PATIENT).toEqual(['open', 'remove'])
    // While the store does not reply, a batch expires, and an inconsistency is found and repaired.
    const next = await harness.read(CONTENT)
    await endRetention(harness, next.id)
    await expect
      .poll(
        async () =>
          await look(
            harness,
            `select (select count(*)::int from batches where status = 'expired') as expired,
               (select count(distinct chunk_no)::int from tasks) as asked`,
          ),
        PATIENT,
      )
      .toEqual([{ expired: 2, asked: 3 }])
    away.reject(new Error('the store is away'))
  }
})

test('inconsistent state is searched for in every fourth sweep, and at once again after a repair', async () => {
  const repaired = [0, 0, 2_000, 1, 0]
  const searches: number[] = []
  let sweep = 0
  const search = inEveryFourthSweep(async () => {
    searches.push(sweep)
    return repaired.shift() ?? 0
  })
  for (sweep = 1; sweep <= 15; sweep += 1) await search()
  expect(searches).toEqual([1, 5, 9, 10, 11, 15])
})

test('a repair that waits for a lock delays neither expiry nor the removal of files', async () => {
  await using harness = await openTestPipeline()
  const { pipeline } = harness
  const { pool } = pipeline.db
  await allowAnyTransition(pipeline.db)
  const kept = await harness.read(CONTENT)
  await harness.read(CONTENT)
  await pool.query(`update batches set status = 'canceled' where id <> $1`, [kept.id])
  const other = await pool.connect()
  await other.query('begin; select from credit_accounts for update')
  await using _ = startSweeps(pipeline)
  const waiting = `select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => await look(harness, waiting), PATIENT).toEqual([{ count: 1 }])
  const uploads = join(harness.files, 'uploads')
  expect(await readdir(uploads)).toContain(kept.id)
  await endRetention(harness, kept.id)
  await expect.poll(async () => await readdir(uploads), PATIENT).not.toContain(kept.id)
  expect(await look(harness, waiting)).toEqual([{ count: 1 }])
  await other.query('rollback')
  other.release()
  const open = 'select count(*)::int as count from credit_holds where closed_at is null'
  await expect.poll(async () => await look(harness, open), PATIENT).toEqual([{ count: 1 }])
})
