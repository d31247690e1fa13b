import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { claimResult } from '@plumbline/db/batches/result-files'
import { readRepairs } from '@plumbline/db/batches/reconcile'
import { readBatch } from '@plumbline/db/batches/rows'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { deleteBatch } from './erase.ts'
import { restoreResults, type ResultWalk } from './lost-results.ts'
import { openResults } from './results.ts'
import { requireOwnStore } from './sweep-store.ts'

const ROWS = 30
/** Names with quotes, one of them written from right to left. */
const NAMES = ['"a', 'محمد <b>', '=1+1']

function contentOf(no: number): string {
  const lines = Array.from({ length: ROWS }, (_, at) => {
    return `u${at}@d${no}.example,"${(NAMES[at % 3] ?? '').replaceAll('"', '""')}"`
  })
  return `email,name\n${lines.join('\n')}\n`
}

interface Ended extends TestPipeline {
  readonly ids: readonly string[]
}

/** This many completed batches, in a store with our marker. */
async function openEnded(count: number): Promise<Ended> {
  const harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  await requireOwnStore(harness.pipeline)
  const ids: string[] = []
  for (let no = 0; no < count; no++) ids.push((await harness.read(contentOf(no))).id)
  await harness.answer()
  await harness.workStages()
  return { ...harness, ids }
}

async function look(
  { pipeline }: TestPipeline,
  walk: ResultWalk = { afterId: '' },
  changes: { graceMs?: number; page?: number; holder?: string } = {},
): Promise<number> {
  const { signal } = new AbortController()
  return await restoreResults(pipeline, { walk, signal, graceMs: 0, holder: 'one', ...changes })
}

async function rowOf({ pipeline }: TestPipeline, id: string) {
  const row = await readBatch(pipeline.db, id)
  if (row === undefined) throw new Error(`no batch ${id}`)
  return row
}

async function fileOf(harness: TestPipeline, id: string): Promise<string> {
  return join(harness.files, (await rowOf(harness, id)).result_key ?? '')
}

/** The download of a batch, and whether it was read from the batch's file. */
async function downloadOf({ pipeline, owner }: TestPipeline, id: string) {
  const request = { format: 'csv', only: [], raw: false, after: 0 } as const
  const { stream, finished } = await openResults(pipeline, owner, id, request)
  return { rows: await text(stream), fromFile: finished !== undefined }
}

test('a result file that two checks find missing is rewritten with the same bytes, and counted', async () => {
  await using harness = await openEnded(2)
  const [lost = '', kept = ''] = harness.ids
  const before = await rowOf(harness, lost)
  const whole = await downloadOf(harness, lost)
  expect(whole.fromFile).toBe(true)
  await rm(await fileOf(harness, lost))
  const keptKey = (await rowOf(harness, kept)).result_key
  expect(await look(harness)).toBe(0)
  expect(await readRepairs(harness.pipeline.db)).toEqual([])
  expect(await look(harness)).toBe(1)
  const after = await rowOf(harness, lost)
  expect(after.result_sha256).toBe(before.result_sha256)
  expect(after.result_bytes).toBe(before.result_bytes)
  expect(after.lease_until).toBeNull()
  expect((await stat(await fileOf(harness, lost))).size).toBe(before.result_bytes)
  expect(await downloadOf(harness, lost)).toEqual(whole)
  expect((await rowOf(harness, kept)).result_key).toBe(keptKey)
  expect(await readRepairs(harness.pipeline.db)).toEqual([
    { kind: 'result_without_file', count: 1 },
  ])
  expect(await look(harness)).toBe(0)
  expect(await look(harness)).toBe(0)
})

test('the result of a canceled batch is rewritten likewise', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  await requireOwnStore(harness.pipeline)
  const { id } = await harness.read(contentOf(0))
  await harness.answer(2)
  await cancelBatch(harness.pipeline, harness.owner, id)
  await harness.workStages()
  expect((await rowOf(harness, id)).status).toBe('canceled')
  const whole = await downloadOf(harness, id)
  await rm(await fileOf(harness, id))
  expect([await look(harness), await look(harness)]).toEqual([0, 1])
  expect(await downloadOf(harness, id)).toEqual(whole)
})

test('a download of a lost file is complete, and has it rewritten before the walk reaches it', async () => {
  await using harness = await openEnded(4)
  const last = harness.ids.toSorted().at(-1) ?? ''
  const whole = await downloadOf(harness, last)
  await rm(await fileOf(harness, last))
  expect(await downloadOf(harness, last)).toEqual({ ...whole, fromFile: false })
  expect(await look(harness, { afterId: '' }, { page: 1 })).toBe(1)
  expect(await downloadOf(harness, last)).toEqual(whole)
})

test('the walk reaches every batch, and starts over', async () => {
  await using harness = await openEnded(5)
  const walk = { afterId: '' }
  for (let round = 0; round < 2; round++) {
    for (const id of harness.ids) await rm(await fileOf(harness, id))
    let healed = 0
    for (let looks = 0; looks < 5 && healed < 5; looks++) {
      healed += await look(harness, walk, { page: 2 })
    }
    expect(healed).toBe(5)
  }
  for (const id of harness.ids) expect((await downloadOf(harness, id)).fromFile).toBe(true)
  // No files of earlier attempts are left.
  expect(await readdir(join(harness.files, 'results'))).toHaveLength(5)
})

test('nothing is written if the whole store is missing, or a batch is deleted meanwhile', async () => {
  await using harness = await openEnded(2)
  const [kept = '', deleted = ''] = harness.ids
  await rename(harness.files, `${harness.files}-away`)
  expect([await look(harness), await look(harness)]).toEqual([0, 0])
  await rm(harness.files, { recursive: true, force: true })
  await rename(`${harness.files}-away`, harness.files)
  await rm(await fileOf(harness, deleted))
  expect(await look(harness)).toBe(0)
  await deleteBatch(harness.pipeline, harness.owner, deleted)
  expect(await look(harness)).toBe(0)
  const row = await rowOf(harness, kept)
  expect(await readdir(join(harness.files, 'results'))).toEqual([row.result_key?.slice(8)])
  expect(await readRepairs(harness.pipeline.db)).toEqual([])
})

test('one process checks, and a file that another one rewrites is left to it until its lease ends', async () => {
  await using harness = await openEnded(1)
  const { db } = harness.pipeline
  const [id = ''] = harness.ids
  await rm(await fileOf(harness, id))
  expect(await look(harness)).toBe(0)
  expect(await look(harness, undefined, { holder: 'other' })).toBe(0)
  const claimed = await claimResult(db, id, 60_000)
  expect(claimed?.id).toBe(id)
  expect(await look(harness)).toBe(0)
  await db.pool.query(`update batches set lease_until = now() - interval '1 s'`)
  expect(await look(harness)).toBe(1)
  expect((await downloadOf(harness, id)).fromFile).toBe(true)
})
