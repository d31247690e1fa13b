import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDER = new URL('.', import.meta.url)

test('each file on the path of a subject in the README is imported by an earlier one', () => {
  const readme = readFileSync(new URL('../README.md', FOLDER), 'utf8')
  const path = [...readme.matchAll(/^\| \d+ \| `([a-z0-9-]+\.ts)` \|/gm)].map(
    (match) => match[1] ?? '',
  )
  const imports = path.map((file) => readFileSync(new URL(file, FOLDER), 'utf8'))
  const unreached = path.filter(
    (file, at) => at > 0 && !imports.slice(0, at).some((text) => text.includes(`'./${file}'`)),
  )
  expect(path[0]).toBe('engine.ts')
  expect(unreached).toEqual([])
})
