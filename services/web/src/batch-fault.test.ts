import { expect, test } from 'vitest'
import { batchFault } from './batch-fault.ts'

test('a person is not told what to write into a call', () => {
  const message = 'No column was found; name one with "mapping": {"phone": ...}.'
  const fault = { error: 'Unprocessable Content', message, field: 'mapping' } as const
  expect(batchFault(fault, 'phone')).toBe(
    'No column is known to hold phone numbers. Choose one under Columns.',
  )
  const short = { error: 'Payment Required', message: 'The balance is short.' }
  expect(batchFault(short, 'email')).toBe('The balance is short.')
})
