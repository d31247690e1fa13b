import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createAccount } from '@plumbline/db/accounts'
import { readRepairs } from '@plumbline/db/batches/reconcile'
import { newTimedId } from '@plumbline/db/ids'
import { insertBatch } from '@plumbline/db/batches/rows'
import { openDatabase, type Db } from '@plumbline/db/database'
import { readStoreOwner } from '@plumbline/db/file-store'
import { openStorage } from '@plumbline/storage/open'
import { expect, test } from 'vitest'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { ForeignStoreError, refuseForeignStore, sweepStore } from './sweep-store.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

async function openHarness() {
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
  const account = await createAccount(db, { email: 'ada@example.com', plan: 'pro' })
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
    await insertBatch(db, row, 1_000)
    await allowAnyTransition(db)
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

/** A file name in the form of the service, for a batch. */
function named(word: string): string {
  return `bat_${word.padEnd(20, 'x')}`
}

const DONE = named('done')
const NONE = named('none')

async function fill(harness: Awaited<ReturnType<typeof openHarness>>): Promise<void> {
  await harness.insert(named('running'), 'running', null)
  await harness.insert(DONE, 'completed', `results/${DONE}-3.csv`)
  await harness.insert(named('failed'), 'failed', null)
  for (const id of [named('running'), DONE, named('failed'), NONE, `${NONE}.part`]) {
    await harness.put(`uploads/${id}`)
  }
  for (const name of [`${DONE}-2.csv`, `${DONE}-3.csv`, `${NONE}-1.csv`]) {
    await harness.put(`results/${name}`)
  }
}

async function agedBy(db: Db, days: number): Promise<void> {
  await db.pool.query(`update stray_files set seen_at = seen_at - $1 * interval '1 day'`, [days])
}

test('uploads and results that no batch references are removed after seven days', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await fill(harness)
  expect(await sweepStore(harness.pipeline)).toBe(0)
  await agedBy(db, 6.9)
  expect(await sweepStore(harness.pipeline)).toBe(0)
  await agedBy(db, 0.2)
  expect(await sweepStore(harness.pipeline)).toBe(5)
  expect((await readdir(join(harness.files, 'uploads'))).toSorted()).toEqual([
    DONE,
    named('running'),
  ])
  expect(await readdir(join(harness.files, 'results'))).toEqual([`${DONE}-3.csv`])
  expect((await db.pool.query('select from stray_files')).rowCount).toBe(0)
  expect(await readRepairs(db)).toEqual([{ kind: 'stray_file', count: 5 }])
})

test('a file that two processes remove at once is counted once', async () => {
  await using harness = await openHarness()
  const { db, storage } = harness.pipeline
  await fill(harness)
  await sweepStore(harness.pipeline)
  await agedBy(db, 8)
  let calls = 0
  let both = Promise.withResolvers<void>()
  const remove = async (keys: readonly string[]): Promise<void> => {
    calls += 1
    const { promise, resolve } = both
    if (calls % 2 === 0) {
      both = Promise.withResolvers()
      resolve()
    }
    await promise
    await storage.remove(keys)
  }
  const sweep = async (): Promise<number> =>
    await sweepStore({ ...harness.pipeline, storage: { ...storage, remove } })
  const counts = await Promise.all([sweep(), sweep()])
  expect(counts.reduce((sum, count) => sum + count)).toBe(5)
  expect(await readRepairs(db)).toEqual([{ kind: 'stray_file', count: 5 }])
})

test('a file that a batch references again is no longer unreferenced, however long it was', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await harness.put(`uploads/${NONE}`)
  await sweepStore(harness.pipeline)
  await agedBy(db, 8)
  await harness.insert(NONE, 'analyzing', null)
  expect(await sweepStore(harness.pipeline)).toBe(0)
  await db.pool.query('delete from batches')
  expect(await sweepStore(harness.pipeline)).toBe(0)
  expect(await readdir(join(harness.files, 'uploads'))).toEqual([NONE])
})

test('files newer than a restored backup are removed seven days after the restore', async () => {
  await using harness = await openHarness()
  await fill(harness)
  // The backup has no record of files stored after it, whatever the age of these files.
  const old = new Date(Date.now() - 30 * 86_400_000)
  for (const id of [NONE, DONE]) await utimes(join(harness.files, 'uploads', id), old, old)
  await harness.pipeline.db.pool.query('delete from batches')
  expect(await sweepStore(harness.pipeline)).toBe(0)
  expect(await readdir(join(harness.files, 'uploads'))).toHaveLength(5)
})

test('between two sweeps of the whole store only names of the last days are listed', async () => {
  await using harness = await openHarness()
  const { pipeline } = harness
  const [old, fresh] = [newTimedId('bat', Date.now() - 9 * 86_400_000), newTimedId('lkp')]
  await sweepStore(pipeline)
  for (const id of [old, fresh]) await harness.put(`uploads/${id}`)
  await sweepStore(pipeline)
  const recorded = async (): Promise<unknown[]> => {
    const { rows } = await pipeline.db.pool.query<{ key: string }>('select key from stray_files')
    return rows.map(({ key }) => key).toSorted()
  }
  expect(await recorded()).toEqual([`uploads/${fresh}`])
  await pipeline.db.pool.query(
    `update file_store_owner set looked_through_at = looked_through_at - interval '25 hours'`,
  )
  await sweepStore(pipeline)
  expect(await recorded()).toEqual([`uploads/${old}`, `uploads/${fresh}`])
})

test('names in another form are never touched', async () => {
  await using harness = await openHarness()
  const strange = [
    'report.csv',
    'bat_short',
    `${NONE}-1.csv`,
    `${NONE}.bak`,
    `bat_${'y'.repeat(21)}`,
  ]
  for (const name of strange) await harness.put(`uploads/${name}`)
  for (const name of ['2026.csv', NONE, `${NONE}.csv`]) await harness.put(`results/${name}`)
  await sweepStore(harness.pipeline)
  await agedBy(harness.pipeline.db, 100)
  expect(await sweepStore(harness.pipeline)).toBe(0)
  expect(await readdir(join(harness.files, 'uploads'))).toHaveLength(strange.length)
  expect((await harness.pipeline.db.pool.query('select from stray_files')).rowCount).toBe(0)
})

test('a store of another installation is refused, and nothing in it is swept', async () => {
  await using harness = await openHarness()
  await using other = await openHarness()
  await fill(harness)
  await sweepStore(harness.pipeline)
  const guest = { ...other.pipeline, storage: harness.pipeline.storage }
  const warned: string[] = []
  const log = { ...SILENT, warn: (_: object, message: string) => warned.push(message) }
  await expect(sweepStore(guest)).rejects.toThrow(ForeignStoreError)
  await agedBy(harness.pipeline.db, 8)
  const owner = await readStoreOwner(harness.pipeline.db)
  await expect(sweepStore(guest)).rejects.toThrow(
    `the store of files is marked as that of ${owner}`,
  )
  await expect(refuseForeignStore({ ...guest, log })).rejects.toThrow(ForeignStoreError)
  await refuseForeignStore({ ...harness.pipeline, log })
  expect(warned).toEqual([])
  expect(await readdir(join(harness.files, 'uploads'))).toHaveLength(5)
})

test('a store that does not reply prevents no start, and no file from being stored', async () => {
  await using harness = await openHarness()
  const storage = {
    ...harness.pipeline.storage,
    open: async () => {
      throw new Error('AccessDenied')
    },
  }
  const warned: string[] = []
  const log = { ...SILENT, warn: (_: object, message: string) => warned.push(message) }
  await fill(harness)
  await refuseForeignStore({ ...harness.pipeline, storage, log })
  expect(warned).toEqual([
    'the marker of the file store could not be read; it is read again before a sweep',
  ])
  await expect(sweepStore({ ...harness.pipeline, storage })).rejects.toThrow('AccessDenied')
})

test('a process that stops leaves the rest of a sweep to the next one', async () => {
  await using harness = await openHarness()
  const { db, storage } = harness.pipeline
  await harness.put(`uploads/${NONE}`)
  await harness.put(`uploads/${named('other')}`)
  const stop = new AbortController()
  const pages: string[] = []
  const inPages = {
    ...storage,
    list: async function* (folder: string) {
      for await (const page of storage.list(folder)) {
        for (const file of page) {
          pages.push(file.key)
          yield [file]
          stop.abort()
        }
      }
    },
  }
  await expect(
    sweepStore({ ...harness.pipeline, storage: inPages }, { signal: stop.signal }),
  ).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
  expect(pages).toHaveLength(2)
  expect((await db.pool.query('select from stray_files')).rowCount).toBe(1)
  // The sweep of the whole store is still due.
  await sweepStore(harness.pipeline)
  expect((await db.pool.query('select from stray_files')).rowCount).toBe(2)
})
