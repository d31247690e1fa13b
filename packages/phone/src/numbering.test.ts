import { expect, test } from 'vitest'
import { createCountryNames } from '@plumbline/datasets/country-names'
import { readNumbering } from './numbering.ts'
import { loadPhonePrefixes } from './prefixes.ts'

const tables = { prefixes: await loadPhonePrefixes(), countries: createCountryNames() }

test.each([
  ['+41791234567', 'mobile', 'mobile', 'Switzerland', '079 123 45 67'],
  ['+442079460958', 'fixed_line', 'landline', 'United Kingdom', '020 7946 0958'],
  ['+14155552671', 'fixed_line_or_mobile', 'unknown', 'United States', '(415) 555-2671'],
  ['+18005550199', 'toll_free', 'unknown', null, '(800) 555-0199'],
  ['+445611234567', 'voip', 'voip', 'United Kingdom', '056 1123 4567'],
  ['+881612345678', 'mobile', 'mobile', null, '6 123 45678'],
])('%s is %s', (e164, numberType, lineType, country, nationalFormat) => {
  expect(readNumbering(tables, e164).facts).toMatchObject({
    valid: true,
    numberType,
    lineType,
    nationalFormat,
    ...(country === null ? {} : { country }),
  })
})

test.each([
  '+800123456789012',
  '+999123456789',
  '+0123456789',
  '+1',
  '+4312',
  '+123456789012345',
  '+4402079460958',
  '+54111512345678',
])('%s is impossible', (e164) => {
  expect(readNumbering(tables, e164)).toMatchObject({
    validity: 'impossible',
    facts: { valid: false },
  })
})

test('a number of the right length in no range is unused', () => {
  expect(readNumbering(tables, '+447700900123')).toMatchObject({
    validity: 'unused',
    facts: { valid: false },
  })
})

test('a number reserved for fiction is valid by the plan and marked', () => {
  expect(readNumbering(tables, '+12015550123')).toMatchObject({
    fictional: true,
    facts: { valid: true },
  })
})

test('the carrier is that of the longest prefix, and unknown stays null', () => {
  expect(tables.prefixes.carrierOf('+41791234567')).toBe('Swisscom')
  expect(tables.prefixes.carrierOf('+14155552671')).toBeNull()
  expect(tables.prefixes.timezonesOf('+14155552671')).toEqual(['America/Los_Angeles'])
  expect(tables.prefixes.timezonesOf('+999')).toEqual([])
})
