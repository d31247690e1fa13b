import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiSettings } from '@plumbline/api/settings'
import { cliSettings } from '@plumbline/cli/settings'
import { localSettings } from '@plumbline/local/settings'
import { workerSettings } from '@plumbline/worker/settings'
import { PLATFORM_VARIABLES } from './platform-variables.ts'
import { ROOT } from './run.ts'

const DATABASE_URL = 'postgres://host/name'

/** Each program's variables with their defaults; DATABASE_URL has none. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  api: defaultsOf(apiSettings.shape, apiSettings.parse({ DATABASE_URL })),
  worker: defaultsOf(workerSettings.shape, workerSettings.parse({ DATABASE_URL })),
  local: defaultsOf(localSettings.shape, localSettings.parse({})),
}

interface Row {
  readonly name: string
  readonly fallback: string
  readonly readers: readonly string[]
}

const rows = readTables(readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'))
const documented = new Map(rows.map((row) => [row.name, row]))

describe('docs/settings.md', () => {
  test('has each variable once', () => {
    expect(rows.map(({ name }) => name)).toEqual([...documented.keys()])
  })

  test.each(Object.keys(DEFAULTS))('has each variable that the %s reads', (program) => {
    const told = rows.filter(({ readers }) => readers.includes(program)).map(({ name }) => name)
    expect(told.toSorted()).toEqual(Object.keys(DEFAULTS[program] ?? {}).toSorted())
  })

  const defaulted = rows.flatMap(({ name, fallback, readers: [first = ''] }) => {
    const defaults = DEFAULTS[first]
    return defaults === undefined ? [] : [{ name, fallback, isShown: shown(defaults[name]) }]
  })
  test.each(defaulted)('has the default of $name', ({ fallback, isShown }) => {
    expect(fallback).toBe(isShown)
  })

  test('has each variable that the command line reads', () => {
    const given = { API_URL: 'http://host', PLUMBLINE_KEY: 'key', REDIS_URL: 'redis://host' }
    for (const name of Object.keys(cliSettings({ ...given, DATABASE_URL }))) {
      expect(documented.get(name)?.readers).toContain('cli')
    }
  })
})

test.each([
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
])('%s names only variables that a program reads', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const named = [...text.matchAll(/`([A-Z]{2,}(?:_[A-Z]+)+)\b/g)].map(([, name = '']) => name)
  const known = new Set([...documented.keys(), ...PLATFORM_VARIABLES])
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

function defaultsOf(
  shape: object,
  parsed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const named = Object.keys(shape).map((name) => [name, parsed[name]])
  return { ...Object.fromEntries(named), DATABASE_URL: undefined }
}

function shown(value: unknown): string {
  if (value === undefined) return 'unset'
  if (!Array.isArray(value)) {
    return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
  }
  return value.length === 0 ? 'none' : `\`${value.join(',')}\``
}

/** A row may name several variables, with one default for all or one for each. */
function readTables(text: string): readonly Row[] {
  return text.split('\n').flatMap((line) => {
    const [, names = '', fallbacks = '', readers = ''] = line.split('|').map((cell) => cell.trim())
    const each = fallbacks.split(', ')
    return [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = ''], at) => ({
      name,
      fallback: each[at] ?? each[0] ?? '',
      readers: readers.split(', '),
    }))
  })
}
