import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnsOf, storedColumn } from './outcome-columns.ts'

const values = fc.array(
  fc.oneof(
    fc.constantFrom('a', 'b', true, false, null, 0),
    fc.string(),
    fc.double(),
    fc.jsonValue(),
  ),
  { maxLength: 200 },
)

test('a stored column has the same values as after JSON', () => {
  fc.assert(
    fc.property(values, fc.array(fc.nat(199), { maxLength: 5 }), (first, changed) => {
      const second = first.map((value, at) => (changed.includes(at) ? `not ${at}` : value))
      const stored = {
        first: storedColumn(first),
        second: storedColumn(second, { name: 'first', values: first }),
      }
      const read = columnsOf(JSON.parse(JSON.stringify(stored)), first.length)
      expect(read).toEqual(JSON.parse(JSON.stringify({ first, second })))
    }),
  )
})

test('equal values are stored once, a few distinct ones by a character each, a copy by its differences', () => {
  const names = Array.from({ length: 100 }, (_, at) => `name ${at}`)
  const other = names.with(7, 'another')
  expect(storedColumn(names.map(() => true))).toEqual({ of: [true] })
  expect(storedColumn(['x', 'y', 'x'])).toEqual({ of: ['x', 'y'], at: '010' })
  expect(storedColumn(names)).toBe(names)
  const stored = storedColumn(other, { name: 'names', values: names })
  expect(stored).toEqual({ as: 'names', but: { 7: 'another' } })
  expect(columnsOf({ names, other: stored }, 100)).toEqual({ names, other })
})

test('a column that refers to a missing one is rejected', () => {
  expect(() => columnsOf({ second: { as: 'first', but: {} } }, 1)).toThrow('repeats first')
})
