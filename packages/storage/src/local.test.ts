import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStorage } from './open.ts'
import type { Storage, StoredFile } from './storage.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-storage-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function open(): Promise<Storage> {
  return await openStorage({ url: pathToFileURL(join(dir, 'files')).href, scratchDir: dir })
}

async function listed(storage: Storage): Promise<readonly StoredFile[]> {
  const files: StoredFile[] = []
  for await (const page of storage.list('uploads')) files.push(...page)
  return files
}

test('the files of a folder are listed with when they came, and no others', async () => {
  await using storage = await open()
  const began = Date.now() - 1_000
  for (const key of ['uploads/a', 'uploads/b', 'results/c']) {
    await writeFile(join(dir, 'x'), key)
    await storage.put(key, join(dir, 'x'))
  }
  const files = await listed(storage)
  expect(files.map(({ key }) => key).toSorted()).toEqual(['uploads/a', 'uploads/b'])
  for (const { storedAt } of files) expect(storedAt.getTime()).toBeGreaterThan(began)
})

test('a folder that is not there yet has no files', async () => {
  await using storage = await open()
  expect(await listed(storage)).toEqual([])
})

test('many files come in bounded pages, each once, while they are being removed', async () => {
  await using storage = await open()
  await writeFile(join(dir, 'x'), 'x')
  await storage.put('uploads/0', join(dir, 'x'))
  for (let no = 1; no < 1_500; no += 1) await writeFile(join(dir, 'files/uploads', `${no}`), '')
  const met = new Set<string>()
  for await (const page of storage.list('uploads')) {
    expect(page.length).toBeLessThanOrEqual(1_000)
    for (const { key } of page) met.add(key)
    await storage.remove(page.map(({ key }) => key))
  }
  expect(met.size).toBe(1_500)
  expect(await readdir(join(dir, 'files/uploads'))).toEqual([])
})
