import { expect, test } from 'vitest'
import { facts, table } from './table.ts'

test('columns are as wide as their widest cell, and lines end with their text', () => {
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

test('control characters of strangers never reach the terminal', () => {
  expect(facts({ name: 'a\u001b[2Jb\r\nc' })).toBe('name  a?[2Jb??c\n')
  expect(table(['x'], [['\u009b31m']])).toBe('x\n?31m\n')
})
