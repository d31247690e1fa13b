import { expect, test } from 'vitest'
import { columnsOf } from './outcome-columns.ts'

test('columns are read whole, by characters, and as copies of one before', () => {
  const stored = {
    names: ['a', 'b', 'c'],
    flags: { of: [true] },
    kinds: { of: ['x', null], at: '010' },
    copies: { as: 'names', but: { 2: 'd' } },
  }
  expect(columnsOf(stored, 3)).toEqual({
    names: ['a', 'b', 'c'],
    flags: [true, true, true],
    kinds: ['x', null, 'x'],
    copies: ['a', 'b', 'd'],
  })
})

test('a column that repeats none that is there is no column', () => {
  expect(() => columnsOf({ second: { as: 'first', but: {} } }, 1)).toThrow('repeats first')
})
