import { expect, test } from 'vitest'
import { calendarDay, counted, dollars } from './format.ts'

test('a number is followed by its noun in singular or plural', () => {
  expect(counted(1, 'batch', 'batches')).toBe('1 batch')
  expect(counted(2, 'batch', 'batches')).toBe('2 batches')
  expect(counted(2, 'row')).toBe('2 rows')
})

test('a calendar day is the same in every time zone', () => {
  expect(calendarDay('2026-11-29')).toBe(
    new Date(2026, 10, 29).toLocaleDateString(undefined, { dateStyle: 'medium' }),
  )
})

test('a price has cents only if it is not whole', () => {
  expect(dollars(24.9)).toMatch(/24[.,]90/)
  expect(dollars(25)).not.toMatch(/25[.,]00/)
})
