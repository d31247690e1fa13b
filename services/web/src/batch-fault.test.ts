import { expect, test } from 'vitest'
import { batchFault } from './batch-fault.ts'

test('a person is not told what to write into a call', () => {
  const found = 'No column of email addresses was found among "a", "b"'
  const message = `${found}; name one with "mapping": {"email": ...}.`
  expect(batchFault({ message })).toBe(`${found}. Choose one under Columns.`)
  expect(batchFault({ message: 'The balance is short.' })).toBe('The balance is short.')
})
