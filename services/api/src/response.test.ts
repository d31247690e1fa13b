import { Problem } from '@plumbline/contract/problem'
import { expect, test } from 'vitest'
import { problemOf } from './response.ts'

test.each([
  [new Problem('conflict', 'x'), 'conflict'],
  [new URIError('x'), 'not_found'],
  [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'unavailable'],
  [Object.assign(new Error('x'), { code: 'ENOTFOUND' }), 'unavailable'],
  [Object.assign(new Error('x'), { code: 'EHOSTUNREACH' }), 'unavailable'],
  [Object.assign(new Error('x'), { code: '57P01' }), 'unavailable'],
  [Object.assign(new Error('deadlock detected'), { code: '40P01' }), 'unavailable'],
  [Object.assign(new Error('x'), { code: '40001' }), 'unavailable'],
  [Object.assign(new Error('x'), { code: '55P03' }), 'unavailable'],
  [new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]), 'unavailable'],
  [new Error('timeout exceeded when trying to connect'), 'unavailable'],
  [new Error('Client has encountered a connection error and is not queryable'), 'unavailable'],
  [Object.assign(new Error('x'), { code: '23505' }), 'internal'],
  [new TypeError('secret'), 'internal'],
  ['a text', 'internal'],
])('%s is %s', (error, code) => {
  const problem = problemOf(error)
  expect(problem.code).toBe(code)
  expect(problem.message).not.toContain('secret')
})
