import { pbkdf2 } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeNewFile } from './new-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'new-file-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Occupies the threads that open files, as passwords and compression do. */
function keepThreadsBusy(): Promise<unknown> {
  const one = (): Promise<void> =>
    new Promise((resolve) => pbkdf2('a', 'b', 50_000, 32, 'sha512', () => resolve()))
  return Promise.all(Array.from({ length: 16 }, one))
}

async function* broken(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* source
  throw new Error('broken')
}

test('a failure before the file is open leaves nothing behind', async () => {
  const busy = keepThreadsBusy()
  const path = join(folder, 'new')
  const written = writeNewFile(path, async (file) => {
    await pipeline(Readable.from([]), broken, file)
  })
  await expect(written).rejects.toThrow('broken')
  await busy
  expect(await readdir(folder)).toEqual([])
})

test('a new file is private, and an existing one is not changed', async () => {
  const path = join(folder, 'new')
  const write = (): Promise<void> =>
    writeNewFile(path, (file) => pipeline(Readable.from([Buffer.from('text')]), file))
  await write()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  await writeFile(path, 'another')
  await expect(write()).rejects.toThrow('EEXIST')
  expect(await readFile(path, 'utf8')).toBe('another')
})
