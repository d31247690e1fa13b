import { describe, expect, test } from 'vitest'
import { columnMapping, headerAnswer, wholeNumber } from './arguments.ts'

describe('whole numbers', () => {
  const read = wholeNumber({ min: 1, max: 100 })

  test('are read within their bounds', () => {
    expect(read('1')).toBe(1)
    expect(read('100')).toBe(100)
  })

  test.for(['0', '101', '-1', '1.5', '1e2', '0x10', '', ' 1', 'ten'])('refuse %j', (text) => {
    expect(() => read(text)).toThrow('Expected a whole number from 1 to 100.')
  })
})

describe('headers', () => {
  test.for([
    ['true', true],
    ['false', false],
    ['4', 4],
  ] as const)('%s', ([text, header]) => expect(headerAnswer(text)).toBe(header))

  test.for(['yes', '0', '101', ''])('refuse %j', (text) => {
    expect(() => headerAnswer(text)).toThrow('Expected true, false, or a number from 1 to 100.')
  })
})

describe('column mappings', () => {
  test('accept names and numbers', () => {
    expect(columnMapping('{"email":"Work Email","phone":3}')).toEqual({
      email: 'Work Email',
      phone: 3,
    })
  })

  test.for(['email=0', '[0]', 'null', '"email"', '{"email":true}', '{"email":null}'])(
    'refuse %j',
    (text) => {
      expect(() => columnMapping(text)).toThrow('Expected')
    },
  )
})
