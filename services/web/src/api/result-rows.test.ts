import { expect, test } from 'vitest'
import { isUnknown, subjectOf, type ResultRow } from './result-rows.ts'

const REFUSED: ResultRow = {
  row: 1,
  ref: null,
  input: null,
  status: 'refused',
  result: null,
  credits_charged: 0,
  error: 'phone: has no country code',
}

test('a row without a result is shown by its cells, with and without a header', () => {
  const withHeader = { ...REFUSED, input: { Name: 'Ada', Phone: '030 123', Note: '' } }
  expect(subjectOf(withHeader, 'phone')).toBe('Ada · 030 123')
  expect(subjectOf({ ...REFUSED, input: ['Ada', '030 123', ''] }, 'phone')).toBe('Ada · 030 123')
  expect(subjectOf({ ...REFUSED, input: 'Ada' }, 'phone')).toBe('Ada')
  expect(subjectOf(REFUSED, 'phone')).toBe('')
})

test('an age of -1 is unknown, as null is, but no other number', () => {
  expect(isUnknown('age_days', -1)).toBe(true)
  expect(isUnknown('domain.age_days', -1)).toBe(true)
  expect(isUnknown('registrar', null)).toBe(true)
  expect(isUnknown('age_days', 0)).toBe(false)
  expect(isUnknown('longitude', -1)).toBe(false)
})
