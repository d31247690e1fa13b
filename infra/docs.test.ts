import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BATCH_MOVES, BATCH_STATES } from '@plumbline/contract/batch'
import { describe, expect, test } from 'vitest'
import { readSource, sourceFiles } from './import-graph.ts'
import { ROOT } from './run.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...['packages', 'services'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => join(folder, name, 'README.md')),
  ),
].filter((path) => existsSync(join(ROOT, path)))

const { version, scripts } = manifest()

describe.each(PAGES)('%s', (page) => {
  const text = read(page)

  test('links to pages and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    const lost = links.filter((link) => !link.includes('://') && !leadsSomewhere(page, link))
    expect(lost).toEqual([])
  })

  test('names files that exist', () => {
    const named = [...text.matchAll(/`((?:packages|services|test|infra|docs)\/[\w./-]+)`/g)]
    const lost = named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)))
    expect(lost).toEqual([])
  })

  test('names scripts of package.json that exist', () => {
    const named = [...text.matchAll(/npm run (?:-s )?([a-z]+)/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})

const PACKAGES = PAGES.filter((page) => /^(?:packages|services)\//.test(page)).map(dirname)

test.each(PACKAGES)('the README of %s names files that it has', (folder) => {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  const named = [...read(join(folder, 'README.md')).matchAll(/`([\w./-]+\.(?:ts|sql|json))`/g)]
  const lost = named.map(([, path = '']) => path).filter((path) => !isFile(path, files))
  expect(lost).toEqual([])
})

test('docs/decisions.md has every decision that a comment cites', () => {
  const page = read('docs/decisions.md')
  const numbered = new Set([...page.matchAll(/^(\d+)\. /gm)].map(([, number]) => number))
  const lost = sourceFiles().flatMap((file) =>
    [...readSource(file).matchAll(/\bdecisions? ((?:\d+(?:, | and )?)+)/g)]
      .flatMap(([, numbers = '']) => numbers.match(/\d+/g) ?? [])
      .filter((number) => !numbered.has(number))
      .map((number) => `${file}: ${number}`),
  )
  expect(lost).toEqual([])
})

test('docs/batches.md draws the states of a batch as BATCH_MOVES has them', () => {
  const [, diagram = ''] = /```mermaid\n([^`]+)```/.exec(read('docs/batches.md')) ?? []
  const drawn = [...diagram.matchAll(/^ +(\w+) --> (\w+) : /gm)].map(
    ([, from, to]) => `${from} ${to}`,
  )
  const moves = BATCH_STATES.flatMap((from) => BATCH_MOVES[from].map((to) => `${from} ${to}`))
  expect(drawn.toSorted()).toEqual(moves.toSorted())
})

test('the first version of the change log and of VERSION-COMMIT is that of package.json', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (\S+)/gm)].map(([, name]) => name)
  expect(headings.find((name) => name !== 'Unreleased')).toBe(version)
  expect(read('VERSION-COMMIT')).toMatch(new RegExp(`^${version.replaceAll('.', '\\.')} `))
})

test('each version has one commit', () => {
  const lines = read('VERSION-COMMIT').trimEnd().split('\n')
  for (const line of lines) expect(line).toMatch(/^\d+\.\d+\.\d+ [0-9a-f]{40}$/)
})

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target))) return false
  return heading === undefined || headingsOf(read(target)).includes(heading)
}

/** Whether a path from the root, or the end of the path of one of the files, names a file. */
function isFile(path: string, files: readonly string[]): boolean {
  return existsSync(join(ROOT, path)) || files.some((file) => `/${file}`.endsWith(`/${path}`))
}

/** Headings in the form used in links. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** Safe because npm rejects a manifest of another form. */
function manifest(): { version: string; scripts: Readonly<Record<string, string>> } {
  return JSON.parse(read('package.json')) as ReturnType<typeof manifest>
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
