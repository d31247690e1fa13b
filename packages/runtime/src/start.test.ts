import { expect, test } from 'vitest'
import { z } from 'zod'
import { readSettings } from './settings.ts'
import { startFault } from './start.ts'

test('a failure that the operator can fix is one sentence without a stack', () => {
  const taken = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:80'), {
    code: 'EADDRINUSE',
  })
  expect(startFault(taken)).toBe('listen EADDRINUSE: address already in use 127.0.0.1:80')
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')])
  expect(startFault(new Error('the queue cannot be used', { cause: refused }))).toBe(
    'the queue cannot be used: connect ECONNREFUSED ::1:5432',
  )
  expect(startFault(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe(
    'ECONNREFUSED',
  )
})

test('every fault of the settings is reported', () => {
  const schema = z.object({ PORT: z.string().regex(/^\d+$/), MODE: z.enum(['a', 'b']) })
  const read = (): unknown => readSettings(schema, { PORT: 'x', MODE: 'c' })
  expect(read).toThrow()
  try {
    read()
  } catch (error) {
    expect(startFault(error)).toMatch(/2 faults:\n {2}PORT: .+"x"\)\n {2}MODE: .+"c"\)/)
  }
})

test('a bug keeps its stack', () => {
  expect(startFault(new TypeError('x is not a function'))).toBeNull()
  expect(startFault('thrown')).toBeNull()
})
