import { mkdir, mkdtempDisposable, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { entriesBelow } from '@plumbline/testkit/entries-below'

test('folders that vanish while they are read are no error', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'plumbline-entries-'))
  const paths = Array.from({ length: 300 }, (_, at) => join(folder.path, String(at)))
  await Promise.all(paths.map((path) => mkdir(join(path, 'below'), { recursive: true })))
  const reading = entriesBelow(folder.path)
  await Promise.all(paths.toReversed().map((path) => rm(path, { recursive: true })))
  expect((await reading).length).toBeGreaterThan(0)
})

test('a folder that does not exist is an error', async () => {
  await expect(entriesBelow(join(tmpdir(), 'plumbline-no-such-folder'))).rejects.toThrow('ENOENT')
})
