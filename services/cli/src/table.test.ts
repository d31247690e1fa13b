import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { facts, table } from './table.ts'

test('columns are as wide as their widest cell, and lines have no trailing blanks', () => {
  expect(
    table(
      ['id', 'email', 'plan'],
      [
        ['1', 'ada@example.com', 'pro'],
        ['22', 'ü@b.example', ''],
      ],
    ),
  ).toBe('id  email            plan\n1   ada@example.com  pro\n22  ü@b.example\n')
})

test('facts name nested values by dots, and show null and empty as a dash', () => {
  const value = { a: null, long: { b: true, c: [1, { d: 'x' }] }, none: [], left: undefined }
  expect(facts(value)).toBe(
    'a           -\nlong.b      true\nlong.c.0    1\nlong.c.1.d  x\nnone        -\n',
  )
})

test('control characters in foreign text never reach the terminal', () => {
  expect(facts({ name: 'a\u001b[2Jb\r\nc' })).toBe('name  a?[2Jb??c\n')
  expect(table(['x'], [['\u009b31m']])).toBe('x\n?31m\n')
})

test('times are shown to the second, and numbers without insignificant digits', () => {
  const value = { created_at: '2026-11-22T11:46:27.123Z', progress: 0.8532727578663974, rows: 12 }
  expect(facts(value)).toBe(
    'created_at  2026-11-22 11:46:27Z\nprogress    0.8533\nrows        12\n',
  )
})

test('colours do not change the layout', () => {
  const rows = [
    ['ok', 'database'],
    ['failed', 'queue'],
  ]
  const coloured = table(['state', 'what'], rows, { hasColors: true })
  expect(coloured).toContain('\u001b[31mfailed\u001b[39m  queue\n')
  expect(stripVTControlCharacters(coloured)).toBe(table(['state', 'what'], rows))
  const value = { status: 'valid', name: 'constructor' }
  expect(stripVTControlCharacters(facts(value, { hasColors: true }))).toBe(facts(value))
})
