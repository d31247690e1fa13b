import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatOf, openResultFile } from './result-file.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-cli-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const never = new AbortController().signal

test('a result file gets its name only when it is complete', async () => {
  const path = join(dir, 'out.csv')
  await writeFile(path, 'old')
  {
    await using file = await openResultFile(path)
    await file.keep(new Blob(['a\n', 'b\n']).stream(), never)
  }
  expect(await readFile(path, 'utf8')).toBe('a\nb\n')
  expect(await readdir(dir)).toEqual(['out.csv'])
})

test('an interrupted transfer leaves the existing file unchanged', async () => {
  const path = join(dir, 'out.csv')
  await writeFile(path, 'old')
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error('cut')),
  })
  const attempt = async (): Promise<void> => {
    await using file = await openResultFile(path)
    await file.keep(broken, never)
  }
  await expect(attempt()).rejects.toThrow('cut')
  expect(await readFile(path, 'utf8')).toBe('old')
  expect(await readdir(dir)).toEqual(['out.csv'])
})

test('a path that cannot be written is refused', async () => {
  await expect(openResultFile(dir)).rejects.toThrow('is a folder')
  await expect(openResultFile(join(dir, 'none', 'x.csv'))).rejects.toThrow('(ENOENT)')
})

test('a device or a pipe is never replaced by a file', async () => {
  const program = spawnSync('mkfifo', [join(dir, 'pipe')])
  expect(program.status).toBe(0)
  await expect(openResultFile(join(dir, 'pipe'))).rejects.toThrow('is a device or a pipe')
  expect(await readdir(dir)).toEqual(['pipe'])
})

test('a link stays, and the file that it names is replaced', async () => {
  await writeFile(join(dir, 'real.csv'), 'old')
  await symlink('real.csv', join(dir, 'link.csv'))
  {
    await using file = await openResultFile(join(dir, 'link.csv'))
    await file.keep(new Blob(['new']).stream(), never)
  }
  expect(await readlink(join(dir, 'link.csv'))).toBe('real.csv')
  expect(await readFile(join(dir, 'real.csv'), 'utf8')).toBe('new')
  expect((await readdir(dir)).toSorted()).toEqual(['link.csv', 'real.csv'])
})

test('the format follows the file name unless it is given', () => {
  expect(formatOf('a/b.ndjson', undefined)).toBe('ndjson')
  expect(formatOf('a/b.JSONL', undefined)).toBe('ndjson')
  expect(formatOf('a/b.csv', undefined)).toBe('csv')
  expect(formatOf('a/b', undefined)).toBe('csv')
  expect(formatOf('a/b.csv', 'ndjson')).toBe('ndjson')
})
