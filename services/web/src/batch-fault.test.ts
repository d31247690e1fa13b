import { expect, test } from 'vitest'
import { batchFault } from './batch-fault.ts'

test('advice for programs is not shown', () => {
  const message = 'No column was found; name one with "mapping": {"phone": ...}.'
  const fault = { error: 'Unprocessable Content', message, field: 'mapping' } as const
  expect(batchFault(fault, 'phone')).toBe(
    'No column is known to hold phone numbers. Choose one under Columns.',
  )
  const told = (field: 'known' | 'known_at' | 'entry'): string =>
    batchFault({ ...fault, message: 'send the day as known_at', field }, 'email')
  expect(told('known')).toMatch(/Choose “Check every row anew” under Verdicts you have already\.$/)
  expect(told('known_at')).toMatch(/Take their day under Verdicts you have already\.$/)
  expect(told('entry')).toMatch(/Choose the one to read\.$/)
  const short = { error: 'Payment Required', message: 'The balance is short.' }
  expect(batchFault(short, 'email')).toBe('The balance is short.')
})
