import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf, readSource, targetOf } from './import-graph.ts'
import { ROOT } from './run.ts'

/** Most files in the list of docs/architecture.md, so that a reader can follow it. */
const MAX_FILES = 45

const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const steps = [
  ...sectionOf('From request to SMTP').matchAll(/^\d+\. `([^`]+)`(?: \(through `([^`]+)`\))?/gm),
].map(([, file = '', between = null]) => ({ file, between }))
const way = steps.map(({ file }) => file)

describe('the path from request to SMTP and back', () => {
  test('has at most 45 files, each once', () => {
    expect(way.length).toBeGreaterThan(1)
    expect(way.length).toBeLessThanOrEqual(MAX_FILES)
    expect(way).toEqual([...new Set(way)])
  })

  test.each(steps.slice(1))('$file is connected to an earlier file', ({ file, between }) => {
    const before = way.slice(0, way.indexOf(file))
    if (between !== null) expect(isTied(file, between)).toBe(true)
    expect(before.filter((other) => isTied(between ?? file, other))).not.toEqual([])
  })
})

const hops = [...sectionOf('The path of a batch').matchAll(/`([\w/.-]+\.ts)`/g)].map(
  ([, file = '']) => file,
)

test.each(hops)('on the path of a batch, %s is connected to another file', (file) => {
  expect(hops.filter((other) => other !== file && isTied(file, other))).not.toEqual([])
})

test.each(['packages', 'services'])('each of the %s has a row', (folder) => {
  const rows = page
    .split('\n')
    .map((line) => /^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|/.exec(line)?.[1] ?? '')
  const named = rows.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name))
  for (const name of readdirSync(join(ROOT, folder))) expect(named).toContain(name)
})

function sectionOf(title: string): string {
  return page.split('\n## ').find((text) => text.startsWith(title)) ?? ''
}

/** Whether one of two files imports the other, type imports included. */
function isTied(one: string, other: string): boolean {
  return targetsOf(one).includes(other) || targetsOf(other).includes(one)
}

/** Imports of a file; none if the file does not exist, so that each wrong line of the page fails one test. */
function targetsOf(file: string): readonly (string | null)[] {
  if (!existsSync(join(ROOT, file))) return []
  return importsOf(file, readSource(file)).map(({ specifier }) => targetOf(file, specifier))
}
