import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { inflateRawSync } from 'node:zlib'
import { noSuchBatch } from '@plumbline/pipeline/batch-access'
import { getBatch } from '@plumbline/pipeline/read'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportFiles } from './export-files.ts'

/** The text of a file in a ZIP file, unpacked from its local header. Source: APPNOTE 4.3.7. */
function textIn(zip: Buffer, name: string): string {
  const at = zip.indexOf(name)
  const extraBytes = zip.readUInt16LE(at - 2)
  return inflateRawSync(zip.subarray(at + name.length + extraBytes)).toString()
}

test('an export has stored responses, but not those that hold the secret of an endpoint', async () => {
  await using api = await openApiHarness()
  const { live } = await api.account({ credits: 10 })
  const made = await api.call('/v1/webhooks', {
    key: live,
    body: { url: 'https://hooks.example/a', events: ['batch.completed'] },
    headers: { 'idempotency-key': 'endpoint-1' },
  })
  expect([made.status, made.text]).toEqual([201, expect.stringContaining('whsec_')])
  await api.call('/v1/email', {
    key: live,
    body: { email: 'ada@example.com' },
    headers: { 'idempotency-key': 'call-1' },
  })
  const response = await fetch(`${api.url}/v1/export`, {
    headers: { authorization: `Bearer ${live}` },
  })
  const answers = textIn(Buffer.from(await response.arrayBuffer()), 'answers.ndjson')
  expect(answers).toContain('"path":"/v1/email"')
  expect(answers).not.toContain('whsec_')
  expect(answers).not.toContain('/v1/webhooks')
})

test('an export shows what a running batch has answered and cost by now', async () => {
  await using stage = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = stage
  const { id } = await stage.read('email\nada@example.com\nbob@example.com\n')
  await stage.answer(1)
  for await (const entry of exportFiles({ pipeline, owner, turn: async () => undefined })) {
    if (entry.name !== 'batches.ndjson') continue
    const line: unknown = JSON.parse(await text(Readable.from(entry.open())))
    const { rows, credits, verdicts } = await getBatch(pipeline, owner, id)
    expect([rows.done, credits.used]).toEqual([1, 1])
    expect(line).toMatchObject({ id, rows, credits, verdicts })
    return
  }
  throw new Error('the export has no batches')
})

test('an export has all receipts of erasures, newest first, and reads a page of them at a time', async () => {
  await using stage = await openTestPipeline()
  const { owner } = stage
  const { db } = stage.pipeline
  await db.pool.query(
    `insert into erasures (id, account_id, mode, status, value_count, include_addresses, place,
       created_at, completed_at)
     select 'ers_' || lpad(n::text, 16, '0'), $1, case when n % 10 = 0 then 'test' else 'live' end,
       'completed', n, false, '{}', now() - n / 100 * interval '1 hour', now()
     from generate_series(1, 999) n`,
    [owner.accountId],
  )
  let most = 0
  const kysely = db.kysely.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      most = Math.max(most, result.rows.length)
      return Promise.resolve(result)
    },
  })
  const pipeline = { ...stage.pipeline, db: { ...db, kysely } }
  const receiptsOf = async (mode: 'live' | 'test'): Promise<readonly string[]> => {
    const source = { pipeline, owner: { ...owner, mode }, turn: async () => undefined }
    for await (const entry of exportFiles(source)) {
      if (entry.name === 'erasures.ndjson') {
        const lines = (await text(Readable.from(entry.open()))).trimEnd().split('\n')
        return lines.map(
          (line) => /"mode":"(\w+)","id":"ers_0*(\d+)"/.exec(line)?.slice(1).join() ?? '',
        )
      }
    }
    return []
  }
  const newestFirst = (one: number, other: number): number =>
    Math.trunc(one / 100) - Math.trunc(other / 100) || other - one
  const numbers = Array.from({ length: 999 }, (_, at) => at + 1).toSorted(newestFirst)
  const tests = numbers.filter((no) => no % 10 === 0).map((no) => `test,${no}`)
  const lives = numbers.filter((no) => no % 10 !== 0).map((no) => `live,${no}`)
  expect(await receiptsOf('live')).toEqual([...lives, ...tests])
  expect(await receiptsOf('test')).toEqual(tests)
  expect(most).toBeLessThan(500)
})

describe('what an export cannot read', () => {
  let stage: TestPipeline
  let id: string
  beforeAll(async () => {
    stage = await openTestPipeline()
    const batch = await stage.read('email\nada@example.com\n', { product: 'email' })
    ;({ id } = batch)
  })
  afterAll(() => stage[Symbol.asyncDispose]())

  /** Reads a file of an export whose store and database fail once the file is opened. */
  async function contentOf(name: string, error: Error): Promise<string> {
    let isOpen = false
    const unlessOpen = <T>(value: T): T => {
      if (isOpen) throw error
      return value
    }
    const { owner } = stage
    const { db, storage } = stage.pipeline
    const pipeline = {
      ...stage.pipeline,
      get db() {
        return unlessOpen(db)
      },
      storage: { ...storage, open: async (key: string) => await unlessOpen(storage).open(key) },
    }
    for await (const entry of exportFiles({ pipeline, owner, turn: async () => undefined })) {
      if (entry.name !== name) continue
      isOpen = true
      return await text(Readable.from(entry.open()))
    }
    throw new Error(`the export has no ${name}`)
  }

  test.each(['upload', 'rows.ndjson'])('ends it: the %s of a batch', async (file) => {
    const fault = Object.assign(new Error('no reply'), { code: 'EIO' })
    await expect(contentOf(`batches/${id}/${file}`, fault)).rejects.toBe(fault)
  })

  test('is empty if it was deleted meanwhile', async () => {
    const gone = Object.assign(new Error('no such file'), { code: 'ENOENT' })
    expect(await contentOf(`batches/${id}/upload`, gone)).toBe('')
    expect(await contentOf(`batches/${id}/rows.ndjson`, noSuchBatch())).toBe('')
  })
})
