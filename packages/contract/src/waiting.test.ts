import { expect, test } from 'vitest'
import { whyWaiting } from './waiting.ts'

test.each([
  ['probe_limit', 'held back'],
  ['connect_failed', 'the mail server did not answer'],
  ['dns_failed', 'the name servers of its domain did not answer'],
  ['dns_unavailable', 'domain names cannot be looked up'],
  ['mailbox_not_found', 'what came back first is not sure'],
])('a row that waits for %s says so', (reason, words) => {
  expect(whyWaiting(reason)).toContain(words)
})
