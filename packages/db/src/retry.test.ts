import { expect, test } from 'vitest'
import { isPassing, retryStatement } from './retry.ts'

/** What pg and its pool say of a connection that broke; none of it has a code. */
const SAID = [
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
]

test.each(SAID)('"%s" passes', (message) => {
  expect(isPassing(new Error(message))).toBe(true)
})

test('a fault of ours does not pass, and is not tried again', async () => {
  const fault = new Error('the email engine left 3 subjects unanswered')
  expect(isPassing(fault)).toBe(false)
  let runs = 0
  const run = async (): Promise<void> => {
    runs += 1
    throw fault
  }
  await expect(retryStatement(run)).rejects.toBe(fault)
  expect(runs).toBe(1)
})
