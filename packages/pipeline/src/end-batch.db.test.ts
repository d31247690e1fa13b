import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredChunk } from '@plumbline/db/batches/chunks'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { leaseDueStages, openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import type { NewFile, Storage } from '@plumbline/storage/storage'
import { expect, test } from 'vitest'
import { pagesOfChunks } from './chunk-pages.ts'
import { finish, runFinish } from './finish.ts'
import { getBatch } from './read.ts'

const ROWS = 60
const never = new AbortController().signal

/** A batch whose result is still to be written, and whose hold has credits to release. */
async function openHarness(): Promise<
  TestPipeline & { id: string; counted: number[]; free: number }
> {
  const counted: number[] = []
  const countCredits = {
    charged: () => undefined,
    released: (_product: string, credits: number) => void counted.push(credits),
  }
  const harness = await openTestPipeline({ countCredits })
  const rows = Array.from({ length: ROWS }, (_row, at) => `user${at}@example.com\n`)
  const { id } = await harness.read(`email\n${rows.join('')}`, { chargeUnknown: false })
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  const { credits } = await getBatch(harness.pipeline, harness.owner, id)
  expect(credits.held).toBeGreaterThan(0)
  return { ...harness, id, counted, free: credits.held }
}

async function leaseOne({ pipeline }: TestPipeline): Promise<{ batchId: string; lease: number }> {
  const [stage] = await leaseDueStages(pipeline)
  if (stage === undefined) throw new Error('no stage is open')
  return stage
}

/** As if the worker of the stage were gone for longer than its lease. */
async function loseLease({ pipeline }: TestPipeline): Promise<void> {
  await pipeline.db.pool.query(`update batches set lease_until = now() - interval '1 ms'`)
}

async function holdOf({ pipeline }: TestPipeline): Promise<unknown> {
  const { rows } = await pipeline.db.pool.query<object>(
    'select released, closed_at is not null as closed from credit_holds',
  )
  return rows[0]
}

test('if the database refuses to end a batch, nothing is released or counted, and the stage is retried later', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id, free, counted } = harness
  await pipeline.db.pool.query(
    `create function skip_end() returns trigger language plpgsql as 'begin return null; end';
     create trigger skip_end before update on batches for each row
       when (new.status = 'completed') execute function skip_end()`,
  )
  const refused = runFinish(pipeline, await leaseOne(harness), never)
  await expect(refused).rejects.toThrow('its end was refused')
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'finalizing',
    credits: { held: free, released: 0 },
  })
  expect(await holdOf(harness)).toEqual({ released: 0, closed: false })
  expect(counted).toEqual([])
  // Not at once, and not repeatedly.
  expect(await leaseDueStages(pipeline)).toEqual([])

  await pipeline.db.pool.query('drop trigger skip_end on batches')
  await loseLease(harness)
  await runFinish(pipeline, await leaseOne(harness), never)
  await expectEnded(harness)
})

test('a batch that another process ended while its result was written is not ended twice', async () => {
  await using harness = await openHarness()
  const { pipeline, files, id } = harness
  const first = await leaseOne(harness)
  await loseLease(harness)
  const second = await leaseOne(harness)
  async function* pagesUntilEnded(): AsyncIterable<readonly StoredChunk[]> {
    yield* pagesOfChunks(pipeline, id)
    await runFinish(pipeline, second, never)
  }
  await finish(pipeline, { ...first, signal: never }, pagesUntilEnded())
  await expectEnded(harness)
  expect(await readdir(join(files, 'results'))).toHaveLength(1)
})

test.each([
  { what: 'its file stays', blanked: 0, left: 1 },
  { what: 'a file that may have values erased since is removed', blanked: 1, left: 0 },
])(
  'if a failover gives two attempts one number, and the other ends the batch, $what',
  async ({ blanked, left }) => {
    await using harness = await openHarness()
    const { pipeline, files, id } = harness
    const stage = { ...(await leaseOne(harness)), signal: never }
    const finishWith = (storage: Storage): Promise<void> =>
      finish({ ...pipeline, storage }, stage, pagesOfChunks(pipeline, id))
    const create = async (key: string): Promise<NewFile> => {
      const file = await pipeline.storage.create(key)
      const end = async (): Promise<void> => {
        await file.end()
        await pipeline.db.pool.query('update batches set blank_count = $1', [blanked])
        await finishWith(pipeline.storage)
      }
      return { ...file, end }
    }
    await finishWith({ ...pipeline.storage, create })
    await expectEnded(harness)
    expect(await readdir(join(files, 'results'))).toHaveLength(left)
  },
)

async function expectEnded(
  harness: TestPipeline & { id: string; counted: number[]; free: number },
): Promise<void> {
  const { pipeline, owner, id, free, counted } = harness
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'completed',
    credits: { held: 0, used: ROWS - free, released: free },
  })
  expect(await holdOf(harness)).toEqual({ released: free, closed: true })
  expect(counted).toEqual([free])
  expect(await leaseDueStages(pipeline)).toEqual([])
  expect(await auditLedger(pipeline.db)).toEqual([])
}
