import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createResultFile } from './result-file.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plumbline-result-'))
})
afterEach(() => {
  rmSync(dir, { recursive: true })
})

test('the file holds what was written, and its size and digest are told', async () => {
  const path = join(dir, 'result')
  const texts = ['name\r\n', 'Åsa\r\n'.repeat(200_000), '', 'end']
  await using file = await createResultFile(path)
  for (const text of texts) await file.write(text)
  const told = await file.end()
  const content = readFileSync(path)
  expect(content.toString()).toBe(texts.join(''))
  expect(told).toEqual({
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  })
})

test('a disk that takes only a part of a text is an error', () => {
  const writeOne = `
    import { createResultFile } from ${JSON.stringify(new URL('result-file.ts', import.meta.url).href)}
    await using file = await createResultFile(${JSON.stringify(join(dir, 'result'))})
    await file.write('x'.repeat(300_000))`
  const child = spawnSync(
    'sh',
    ['-c', 'ulimit -f 100 && exec "$0" --input-type=module -e "$1"', process.execPath, writeOne],
    { encoding: 'utf8' },
  )
  expect(child.stderr).toContain('EFBIG')
})
