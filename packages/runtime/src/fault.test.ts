import { expect, test } from 'vitest'
import { faultOf } from './fault.ts'

test('a logged error shows what happened and none of the values', () => {
  const cause = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (email)=(ada@example.com) already exists.',
    parameters: ['ada@example.com'],
  })
  const shown = faultOf(new TypeError('outer', { cause }))
  expect(shown).toMatchObject({
    type: 'TypeError',
    message: 'outer',
    cause: { message: 'duplicate key', code: '23505' },
  })
  expect(JSON.stringify(shown)).not.toContain('ada@')
})

test('endless causes and values that are not errors are shown too', () => {
  const loop = new Error('loop')
  loop.cause = loop
  expect(JSON.stringify(faultOf(loop)).length).toBeLessThan(20_000)
  expect(faultOf('secret')).toMatchObject({ type: 'string', message: 'not an error' })
})
