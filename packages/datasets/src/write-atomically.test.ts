import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeAtomically } from './write-atomically.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-atomic-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

test('of processes that write a file at once, also of one id in two containers, each writes it whole', async () => {
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(1_000_000))
  await Promise.all(texts.map((text) => writeAtomically(dir, 'list.txt', text)))
  expect(texts).toContain(await readFile(join(dir, 'list.txt'), 'utf8'))
  expect(await readdir(dir)).toEqual(['list.txt'])
})

test('what killed processes left of a file is removed, and nothing that may still be written', async () => {
  const names = ['.list.txt.1.part', '.list.txt.2.part', '.other.txt.1.part']
  for (const name of names) await writeFile(join(dir, name), 'half')
  const yesterday = Date.now() / 1_000 - 86_400
  for (const name of [names[0], names[2]]) {
    await utimes(join(dir, name ?? ''), yesterday, yesterday)
  }
  await writeAtomically(dir, 'list.txt', 'whole')
  expect((await readdir(dir)).toSorted()).toEqual([
    '.list.txt.2.part',
    '.other.txt.1.part',
    'list.txt',
  ])
})
