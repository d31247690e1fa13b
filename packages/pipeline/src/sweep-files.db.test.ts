import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createAccount } from '@plumbline/db/accounts'
import { insertBatch } from '@plumbline/db/batches/rows'
import { openDatabase } from '@plumbline/db/database'
import { openStorage } from '@plumbline/storage/open'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { sweepFiles } from './sweep-files.ts'

async function openPlace() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-sweep-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const db = stack.use(openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' }))
  const scratchDir = join(dir, 'scratch')
  const files = join(dir, 'files')
  await mkdir(scratchDir)
  const storage = await openStorage({ url: pathToFileURL(files).href, scratchDir })
  const put = async (key: string): Promise<void> => {
    await writeFile(join(dir, 'x'), 'email\nada@example.com\n')
    await storage.put(key, join(dir, 'x'))
  }
  const account = await createAccount(db.kysely, { email: 'ada@example.com', plan: 'pro' })
  const insert = async (id: string, status: string, resultKey: string | null): Promise<void> => {
    const row = {
      id,
      account_id: account.id,
      mode: 'live' as const,
      product: 'email' as const,
      name: null,
      explain: false,
      charge_unknown: true,
      default_country: null,
      auto_start: false,
      max_credits: null,
      retention_days: 30,
      requested: '{}',
      source_key: `uploads/${id}`,
      file_name: null,
      file_bytes: 1,
      file_format: null,
    }
    await insertBatch(db.kysely, row, 1_000)
    await db.pool.query('update batches set status = $2, result_key = $3 where id = $1', [
      id,
      status,
      resultKey,
    ])
  }
  const owned = stack.move()
  return {
    pipeline: { db, storage, scratchDir },
    files,
    put,
    insert,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('uploads and results that no batch names are removed, all others stay', async () => {
  await using place = await openPlace()
  await place.insert('bat_running', 'running', null)
  await place.insert('bat_done', 'completed', 'results/bat_done-3.csv')
  await place.insert('bat_failed', 'failed', null)
  for (const id of ['bat_running', 'bat_done', 'bat_failed', 'bat_none', 'bat_none.part']) {
    await place.put(`uploads/${id}`)
  }
  for (const name of ['bat_done-2.csv', 'bat_done-3.csv', 'bat_none-1.csv']) {
    await place.put(`results/${name}`)
  }
  expect(await sweepFiles(place.pipeline)).toBe(0)
  expect(await sweepFiles(place.pipeline, { olderThanMs: -1_000 })).toBe(5)
  expect((await readdir(join(place.files, 'uploads'))).toSorted()).toEqual([
    'bat_done',
    'bat_running',
  ])
  expect(await readdir(join(place.files, 'results'))).toEqual(['bat_done-3.csv'])
})

test('scratch files are removed once nothing has written to them for hours', async () => {
  await using place = await openPlace()
  const { scratchDir } = place.pipeline
  const old = new Date(Date.now() - 7 * 3_600_000)
  for (const name of [
    'upload-a',
    'records-a',
    'result-a-repeats',
    'repeats-a',
    'fetch-a',
    'notes',
  ]) {
    await writeFile(join(scratchDir, name), 'x')
    await utimes(join(scratchDir, name), old, old)
  }
  await writeFile(join(scratchDir, 'upload-b'), 'x')
  expect(await sweepFiles(place.pipeline)).toBe(5)
  expect((await readdir(scratchDir)).toSorted()).toEqual(['notes', 'upload-b'])
})
