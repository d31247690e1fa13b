import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
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

test('the files of a folder are listed with their times, and no others', async () => {
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

test('a missing folder has no files', async () => {
  await using storage = await open()
  expect(await listed(storage)).toEqual([])
})

test('a file written in pieces exists once it is complete, and otherwise leaves nothing', async () => {
  await using storage = await open()
  const names = async (): Promise<readonly string[]> =>
    (await listed(storage)).map(({ key }) => key)
  {
    await using file = await storage.create('uploads/a')
    await file.write(Buffer.from('first '))
    expect(await names()).toEqual(['uploads/a.part'])
    await file.write(Buffer.from('last'))
    await file.end()
  }
  expect(await names()).toEqual(['uploads/a'])
  expect(await text(await storage.open('uploads/a'))).toBe('first last')
  {
    await using given = await storage.create('uploads/a')
    await given.write(Buffer.from('x'))
  }
  expect(await names()).toEqual(['uploads/a'])
  expect(await text(await storage.open('uploads/a'))).toBe('first last')
})

test('of two writers of one file the later one wins, and what a killed one left is removed with the file', async () => {
  await using storage = await open()
  await using first = await storage.create('uploads/a')
  await first.write(Buffer.from('first'))
  {
    await using second = await storage.create('uploads/a')
    await first.write(Buffer.from(' goes on'))
    await second.write(Buffer.from('second'))
    await expect(first.end()).rejects.toThrow('begun again')
    await second.end()
  }
  expect(await text(await storage.open('uploads/a'))).toBe('second')
  await writeFile(join(dir, 'files/uploads/a.part'), 'of a killed process')
  await storage.remove(['uploads/a'])
  expect(await readdir(join(dir, 'files/uploads'))).toEqual([])
})

test('a disk that accepts only a part of a write is an error', () => {
  const writeOne = `
    import { openLocalStorage } from ${JSON.stringify(new URL('local.ts', import.meta.url).href)}
    await using storage = await openLocalStorage(new URL(${JSON.stringify(pathToFileURL(dir).href)}))
    await using file = await storage.create('results/a')
    await file.write(Buffer.alloc(300_000))`
  const child = spawnSync(
    'sh',
    ['-c', 'ulimit -f 100 && exec "$0" --input-type=module -e "$1"', process.execPath, writeOne],
    { encoding: 'utf8' },
  )
  expect(child.stderr).toContain('EFBIG')
  expect(readdirSync(join(dir, 'results'))).toEqual([])
})

test('names with a prefix are listed from a given one on', async () => {
  await using storage = await open()
  for (const name of ['bat_1', 'bat_2', 'bat_3', 'lkp_3', 'bat']) {
    await writeFile(join(dir, 'x'), 'x')
    await storage.put(`uploads/${name}`, join(dir, 'x'))
  }
  const keys: string[] = []
  for await (const page of storage.list('uploads', { prefix: 'bat_', after: 'bat_1' })) {
    keys.push(...page.map(({ key }) => key))
  }
  expect(keys.toSorted()).toEqual(['uploads/bat_2', 'uploads/bat_3'])
})

test('many files come in bounded pages, each once, while they are being removed', async () => {
  await using storage = await open()
  await writeFile(join(dir, 'x'), 'x')
  await storage.put('uploads/0', join(dir, 'x'))
  for (let no = 1; no < 1_500; no += 1) await writeFile(join(dir, 'files/uploads', `${no}`), '')
  const keys = new Set<string>()
  for await (const page of storage.list('uploads')) {
    expect(page.length).toBeLessThanOrEqual(1_000)
    for (const { key } of page) keys.add(key)
    await storage.remove(page.map(({ key }) => key))
  }
  expect(keys.size).toBe(1_500)
  expect(await readdir(join(dir, 'files/uploads'))).toEqual([])
})
